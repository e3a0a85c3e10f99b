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
  const { width } = chart.getBoundingClientRect();
  const sheet = document.createElement('div');
  sheet.style.cssText = 'display: flow-root';
  const legend = chart.parentElement?.querySelector(':scope > .legend')?.cloneNode(true);
  const foot = document.createElement('p');
  foot.className = 'quiet small';
  const source = document.querySelector('.made-up') ? 'gmsi, made-up data' : 'gmsi';
  foot.textContent = `Source: ${source}.${of.at ? ` As of ${moment(of.at)} ${zone.value}.` : ''}`;
  sheet.append(headingOf(of.title), copyOf(chart), ...(legend ? [legend] : []), foot);
  // In the page for a moment, for its height.
  document.body.append(sheet);
  sheet.style.width = `${width}px`;
  const { height } = sheet.getBoundingClientRect();
  sheet.remove();
  const wide = Math.max(width + 2 * margin, ((height + 2 * margin) * 16) / 9);
  const sides = [Math.ceil(wide), Math.ceil((wide * 9) / 16)] as const;
  const image = new Image(...sides);
  image.src = `data:image/svg+xml,${encodeURIComponent(asSvg(sheet, sides))}`;
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
  heading.querySelector('.share')?.remove();
  return heading;
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
  for (const one of copy.querySelectorAll('.tip, .hidden')) one.remove();
  copy.querySelector('[aria-current]')?.removeAttribute('aria-current');
  return copy;
}

/** Writes an element with the styles of this page as one SVG image. */
function asSvg(element: HTMLElement, [width, height]: readonly [number, number]): string {
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
