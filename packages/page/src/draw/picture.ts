import { today } from '../time.ts';

/** Pixels of the picture to a pixel of the page, so that it is sharp in a document. */
const sharpness = 2;
const margin = 16;

/** Saves the chart that a selector finds as a PNG file, as it looks now: with its title, its legend, and where it is from. */
export async function savePicture(selector: string): Promise<void> {
  const chart = document.querySelector<HTMLElement>(`main :is(${selector})`);
  if (!chart) return;
  const { width, height } = chart.getBoundingClientRect();
  const titled = document.querySelector<HTMLElement>('main .headline');
  const heading = (titled ?? madeHeading()).cloneNode(true) as HTMLElement;
  heading.style.margin = '0 0 0.75rem';
  heading.querySelector('.hint')?.remove();
  const legend = chart.parentElement?.querySelector(':scope > .legend');
  const foot = document.createElement('p');
  foot.className = 'quiet small';
  foot.textContent = `Source: gmsi${document.querySelector('.made-up') ? ', made-up data' : ''}. Drawn ${today()}.`;
  const others = [heading, ...(legend ? [legend] : []), foot];
  const room = others.reduce((sum, one) => sum + heightOf(one as HTMLElement, width), 0);
  const parts = [heading, copyOf(chart), ...(legend ? [legend.cloneNode(true) as HTMLElement] : []), foot];
  const sides = [width + 2 * margin, height + room + 2 * margin] as const;
  const image = new Image(...sides);
  image.src = `data:image/svg+xml,${encodeURIComponent(asSvg(parts, sides))}`;
  await image.decode();
  const canvas = document.createElement('canvas');
  [canvas.width, canvas.height] = [sides[0] * sharpness, sides[1] * sharpness];
  canvas.getContext('2d')!.drawImage(image, 0, 0, canvas.width, canvas.height);
  const blob = await new Promise<Blob | null>((resolve) => canvas.toBlob(resolve));
  const link = document.createElement('a');
  const name = heading.querySelector('h2')!.textContent.replace(/[^\p{L}\d]+/gu, '-');
  link.download = `gmsi-${name}.png`;
  link.href = URL.createObjectURL(blob!);
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/** A heading of what is chosen, for a view that has no title. */
function madeHeading(): HTMLElement {
  const heading = document.createElement('header');
  const title = document.createElement('h2');
  const chosen = [...document.querySelectorAll('.chips span')].map((one) => one.textContent);
  title.textContent = chosen.join(' · ');
  heading.append(title);
  heading.className = 'headline';
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

/** Writes elements with the styles of this page as one SVG image. */
function asSvg(elements: readonly HTMLElement[], [width, height]: readonly [number, number]): string {
  const style = document.createElement('style');
  style.textContent = [...document.styleSheets]
    .flatMap(({ cssRules }) => [...cssRules].map(({ cssText }) => cssText))
    .join('\n');
  const body = document.createElement('body');
  body.style.cssText = `padding: ${margin}px; height: 100%`;
  body.append(style, ...elements);
  const scheme = matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light';
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" style="color-scheme: ${scheme}">
    <foreignObject width="100%" height="100%">${new XMLSerializer().serializeToString(body)}</foreignObject></svg>`;
}
