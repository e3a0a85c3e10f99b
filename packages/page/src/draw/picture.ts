import { moment, zone } from '../time.ts';

/** Pixels of the picture to a pixel of the page, so that it is sharp on a slide. */
const sharpness = 2;
const margin = 24;

/**
 * Saves the chart that a selector finds as a slide, 16:9, in a PNG file, as it looks now: with its title, its legend, where it is
 * from, and the moment of its data.
 */
export async function savePicture(
  selector: string,
  of: { readonly title: string; readonly name: string; readonly at: string | null },
): Promise<void> {
  const chart = document.querySelector<HTMLElement>(`main :is(${selector})`);
  if (!chart) return;
  const { width, height } = chart.getBoundingClientRect();
  const heading = headingOf(of.title);
  const legend = chart.parentElement?.querySelector<HTMLElement>(':scope > .legend');
  const foot = document.createElement('p');
  foot.className = 'quiet small';
  foot.style.cssText = 'margin: auto 0 0; padding-top: 0.75rem';
  const source = document.querySelector('.made-up') ? 'gmsi, made-up data' : 'gmsi';
  foot.textContent = `Source: ${source}.${of.at ? ` As of ${moment(of.at)} ${zone.value}.` : ''}`;
  const others = [heading, ...(legend ? [legend] : []), foot];
  const room = others.reduce((sum, one) => sum + heightOf(one, width), 0);
  const wide = Math.max(width + 2 * margin, ((height + room + 2 * margin) * 16) / 9);
  const sides = [Math.ceil(wide), Math.ceil((wide * 9) / 16)] as const;
  const image = new Image(...sides);
  const parts = [heading, copyOf(chart), ...(legend ? [legend.cloneNode(true) as HTMLElement] : []), foot];
  image.src = `data:image/svg+xml,${encodeURIComponent(asSvg(parts, width, sides))}`;
  await image.decode();
  const canvas = document.createElement('canvas');
  [canvas.width, canvas.height] = [sides[0] * sharpness, sides[1] * sharpness];
  canvas.getContext('2d')!.drawImage(image, 0, 0, canvas.width, canvas.height);
  const blob = await new Promise<Blob | null>((resolve) => canvas.toBlob(resolve));
  const link = document.createElement('a');
  link.download = `${of.name}.png`;
  link.href = URL.createObjectURL(blob!);
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
  heading.querySelector('.hint')?.remove();
  heading.style.margin = '0 0 0.75rem';
  return heading;
}

/** Returns how high an element is in a picture of this width, margins included. */
function heightOf(element: HTMLElement, width: number): number {
  const box = document.createElement('div');
  box.style.cssText = `position: absolute; visibility: hidden; display: flow-root; width: ${width}px`;
  box.append(element.cloneNode(true));
  document.body.append(box);
  const { height } = box.getBoundingClientRect();
  box.remove();
  return Math.ceil(height);
}

/** Copies a chart with what is on its canvases, and without what lies above it for a moment. */
function copyOf(chart: HTMLElement): HTMLElement {
  const copy = chart.cloneNode(true) as HTMLElement;
  const canvases = [...chart.querySelectorAll('canvas')];
  for (const [index, canvas] of [...copy.querySelectorAll('canvas')].entries()) {
    const drawn = new Image();
    drawn.src = canvases[index]!.toDataURL();
    drawn.style.cssText = 'display: block; width: 100%; height: 100%';
    canvas.replaceWith(drawn);
  }
  for (const one of copy.querySelectorAll('.tip, .frame, .hidden')) one.remove();
  return copy;
}

/** Writes elements of a width with the styles of this page as one SVG image, with as much room on both sides. */
function asSvg(
  elements: readonly HTMLElement[],
  inner: number,
  [width, height]: readonly [number, number],
): string {
  const style = document.createElement('style');
  style.textContent = [...document.styleSheets]
    .flatMap(({ cssRules }) => [...cssRules].map(({ cssText }) => cssText))
    .join('\n');
  const body = document.createElement('body');
  body.style.cssText = `display: flex; flex-direction: column; height: ${height}px; padding: ${margin}px ${(width - inner) / 2}px`;
  body.append(style, ...elements);
  const scheme = matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light';
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" style="color-scheme: ${scheme}">
    <foreignObject width="100%" height="100%">${new XMLSerializer().serializeToString(body)}</foreignObject></svg>`;
}
