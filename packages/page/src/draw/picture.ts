import type uPlot from 'uplot';
import { moment, zone } from '../time.ts';
import { paint, placed, plots, short, toBaseline, vector, vectorsOf } from './vectors.ts';

/** Pixels of the picture to a pixel of the page, so that it is sharp on a slide. */
const sharpness = 2;
const margin = 24;
/** Arial and a font of the same widths, so that a line fits on other machines as it does here. */
const fonts = 'Arial, "Liberation Sans", sans-serif';

type Sides = readonly [width: number, height: number];

/**
 * Saves the chart that a selector finds as a slide, 16:9, as it looks now: with its title, its legend, where it is from, and the
 * moment of its data. A chart of plots becomes vectors and texts, and a PNG file is made of these.
 */
export async function savePicture(
  selector: string,
  type: 'png' | 'svg',
  of: { readonly title: string; readonly name: string; readonly at: string | null },
): Promise<void> {
  const chart = document.querySelector<HTMLElement>(`main :is(${selector})`);
  if (!chart) return;
  const drawn = [...chart.querySelectorAll('canvas')].map((canvas) => plots.get(canvas)!);
  const sheet = document.createElement('div');
  sheet.style.cssText = `display: flow-root; width: ${chart.getBoundingClientRect().width}px`;
  if (drawn.length > 0) sheet.style.fontFamily = fonts;
  const legend = chart.parentElement?.querySelector(':scope > .legend')?.cloneNode(true);
  const foot = document.createElement('p');
  foot.className = 'quiet small';
  const source = document.querySelector('.made-up') ? 'gmsi, made-up data' : 'gmsi';
  foot.textContent = `Source: ${source}.${of.at ? ` As of ${moment(of.at)} ${zone.value}.` : ''}`;
  sheet.append(headingOf(of.title), copyOf(chart), ...(legend ? [legend] : []), foot);
  // In the page for a moment, for where everything is.
  document.body.append(sheet);
  const { width, height } = sheet.getBoundingClientRect();
  const wide = Math.max(width + 2 * margin, ((height + 2 * margin) * 16) / 9);
  const sides = [Math.ceil(wide), Math.ceil((wide * 9) / 16)] as const;
  let svg: string;
  try {
    svg = drawn.length > 0 ? asVectors(sheet, drawn, sides) : asImage(sheet, sides);
  } finally {
    sheet.remove();
  }
  const blob = type === 'svg' ? new Blob([svg], { type: 'image/svg+xml' }) : await asPng(svg, sides);
  const link = document.createElement('a');
  link.download = `${of.name}.${type}`;
  link.href = URL.createObjectURL(blob);
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/** Copies the heading of the view, or makes one of a title. */
function headingOf(title: string): HTMLElement {
  const heading = document.createElement('header');
  heading.className = 'headline';
  const own = document.querySelector('main .headline');
  if (own) heading.append(...own.cloneNode(true).childNodes);
  else heading.append(Object.assign(document.createElement('h2'), { textContent: title }));
  heading.querySelector('.share')?.remove();
  return heading;
}

/** Copies a chart without what lies above it for a moment. */
function copyOf(chart: HTMLElement): HTMLElement {
  const copy = chart.cloneNode(true) as HTMLElement;
  for (const one of copy.querySelectorAll('.tip, .hidden')) one.remove();
  copy.querySelector('[aria-current]')?.removeAttribute('aria-current');
  return copy;
}

/** Writes an element that is in the page as SVG, with plots in place of its canvases. */
function asVectors(sheet: HTMLElement, drawn: readonly uPlot[], [width, height]: Sides): string {
  const box = sheet.getBoundingClientRect();
  const origin = new DOMMatrix().translate(
    (width - box.width) / 2 - box.left,
    (height - box.height) / 2 - box.top,
  );
  const defs = vector('defs', {});
  const found = [...sheet.querySelectorAll('canvas')].map((canvas, place) => {
    const { left, top } = canvas.getBoundingClientRect();
    return vector('g', placed(origin.translate(left, top)), vectorsOf(drawn[place]!, defs));
  });
  const signs = [...sheet.querySelectorAll<SVGPathElement>('svg path')].map((path) => {
    const { fill, stroke, strokeWidth } = getComputedStyle(path);
    return vector('path', {
      d: path.getAttribute('d')!,
      ...placed(DOMMatrix.fromMatrix(path.getScreenCTM()!)),
      ...paint('fill', fill),
      ...paint('stroke', stroke),
      'stroke-width': Number.parseFloat(strokeWidth),
    });
  });
  const paper = paint('fill', getComputedStyle(document.body).backgroundColor);
  const svg = vector(
    'svg',
    { width, height, viewBox: `0 0 ${width} ${height}`, 'font-family': fonts },
    defs,
    vector('rect', { width, height, ...paper }),
    ...found,
    vector('g', placed(origin), ...signs, ...linesOf(sheet)),
  );
  return new XMLSerializer().serializeToString(svg);
}

/** Writes the texts of an element that is in the page, a line each, where they are in the window. */
function linesOf(sheet: HTMLElement): SVGElement[] {
  const lines: { node: Text; key: string; text: string; x: number; right: number; look: object }[] = [];
  const nodes = document.createTreeWalker(sheet, NodeFilter.SHOW_TEXT);
  const range = document.createRange();
  while (nodes.nextNode()) {
    const node = nodes.currentNode as Text;
    const parent = node.parentElement!;
    const { fontSize, fontWeight, color, overflowX } = getComputedStyle(parent);
    const edge = overflowX === 'hidden' ? parent.getBoundingClientRect().right : Number.POSITIVE_INFINITY;
    for (const { segment, index } of new Intl.Segmenter().segment(node.data)) {
      range.setStart(node, index);
      range.setEnd(node, index + segment.length);
      const { left, right, top, height } = range.getBoundingClientRect();
      // A blank at the end of a line, or a text that is not shown.
      if (left === right) continue;
      const look = {
        y: short(top + toBaseline.top * height),
        'font-size': Number.parseFloat(fontSize),
        'font-weight': Number(fontWeight) >= 600 ? 'bold' : undefined,
        ...paint('fill', color),
      };
      const key = JSON.stringify(look);
      const last = lines.at(-1);
      if (last?.key === key && (last.node === node || Math.abs(left - last.right) < 1)) {
        if (!last.text.endsWith('…')) last.text += right > edge ? '…' : segment;
        Object.assign(last, { node, right });
      } else if (segment.trim()) lines.push({ node, key, text: segment, x: short(left), right, look });
    }
  }
  return lines.map(({ text, x, look }) => vector('text', { x, ...look }, text.trimEnd()));
}

/** Writes an element with the styles of this page as an SVG image for browsers. */
function asImage(element: HTMLElement, [width, height]: Sides): string {
  const style = document.createElement('style');
  style.textContent = [...document.styleSheets]
    .flatMap(({ cssRules }) => [...cssRules].map(({ cssText }) => cssText))
    .join('\n');
  const body = document.createElement('body');
  body.style.cssText = `display: grid; place-content: safe center; height: ${height}px`;
  body.append(style, element);
  const scheme = matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light';
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" style="color-scheme: ${scheme}">
    <foreignObject width="100%" height="100%">${new XMLSerializer().serializeToString(body)}</foreignObject></svg>`;
}

async function asPng(svg: string, sides: Sides): Promise<Blob> {
  const image = new Image(...sides);
  image.src = `data:image/svg+xml,${encodeURIComponent(svg)}`;
  await image.decode();
  const canvas = document.createElement('canvas');
  [canvas.width, canvas.height] = [sides[0] * sharpness, sides[1] * sharpness];
  canvas.getContext('2d')!.drawImage(image, 0, 0, canvas.width, canvas.height);
  return (await new Promise<Blob | null>((resolve) => canvas.toBlob(resolve)))!;
}
