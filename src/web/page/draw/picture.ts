/** Pixels of the picture to a pixel of the page, so that it is sharp in a document. */
const sharpness = 2;
const margin = 16;

/** Saves the chart that a selector finds as a PNG file, as it looks now, below what the view says it has chosen. */
export async function savePicture(selector: string): Promise<void> {
  const chart = document.querySelector<HTMLElement>(`main :is(${selector})`);
  if (!chart) return;
  const title = [...document.querySelectorAll('.chips span')].map((one) => one.textContent).join(' · ');
  const canvas = drawn(chart, title);
  const blob = await new Promise<Blob | null>((resolve) => canvas.toBlob(resolve));
  const link = document.createElement('a');
  link.download = `gmsi-${title.replace(/[^\p{L}\d]+/gu, '-')}.png`;
  link.href = URL.createObjectURL(blob!);
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

function drawn(chart: HTMLElement, title: string): HTMLCanvasElement {
  const { left, top, width, height } = chart.getBoundingClientRect();
  const head = 28;
  const canvas = document.createElement('canvas');
  canvas.width = (width + 2 * margin) * sharpness;
  canvas.height = (height + head + 2 * margin) * sharpness;
  const context = canvas.getContext('2d')!;
  const { backgroundColor, color } = getComputedStyle(document.body);
  context.fillStyle = backgroundColor;
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.scale(sharpness, sharpness);
  context.fillStyle = color;
  context.font = `600 16px ${getComputedStyle(document.body).fontFamily}`;
  context.fillText(title, margin, margin + 14);
  context.translate(margin - left, margin + head - top);
  const toPage = context.getTransform();
  for (const one of [chart, ...chart.querySelectorAll('*')]) {
    if (one.closest('.readout, .tip, .frame, .hidden, defs, pattern')) continue;
    const style = getComputedStyle(one);
    const box = one.getBoundingClientRect();
    if (one instanceof HTMLCanvasElement) context.drawImage(one, box.left, box.top, box.width, box.height);
    else if (one instanceof SVGPathElement) drawPath(context, toPage, one, style);
    else if (one instanceof HTMLElement) drawElement(context, one, style, box);
  }
  return canvas;
}

function drawPath(
  context: CanvasRenderingContext2D,
  toPage: DOMMatrix,
  path: SVGPathElement,
  style: CSSStyleDeclaration,
) {
  context.save();
  context.setTransform(toPage.multiply(path.getScreenCTM()!));
  context.globalAlpha = Number(style.opacity);
  const shape = new Path2D(path.getAttribute('d')!);
  // A pattern's place is taken by the colour around it.
  for (const [colour, draw] of [
    [style.fill, () => context.fill(shape)],
    [style.stroke, () => context.stroke(shape)],
  ] as const) {
    if (colour === 'none' || colour.startsWith('url')) continue;
    context.fillStyle = context.strokeStyle = colour;
    context.lineWidth = Number.parseFloat(style.strokeWidth);
    draw();
  }
  context.restore();
}

/** Draws the background, the upper border, which is a line's sign, and the words of an element. */
function drawElement(
  context: CanvasRenderingContext2D,
  one: HTMLElement,
  style: CSSStyleDeclaration,
  box: DOMRect,
) {
  context.save();
  context.fillStyle = style.backgroundColor;
  context.fillRect(box.left, box.top, box.width, box.height);
  if (one.classList.contains('sign')) {
    context.fillStyle = style.borderTopColor;
    context.fillRect(box.left, box.top, box.width, 2.5);
  }
  context.fillStyle = style.color;
  context.letterSpacing = style.letterSpacing;
  context.font = `${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
  context.textBaseline = 'middle';
  if (style.overflowX !== 'visible') {
    context.beginPath();
    context.rect(box.left, box.top, box.width, box.height);
    context.clip();
  }
  const range = document.createRange();
  for (const node of one.childNodes) {
    if (!(node instanceof Text)) continue;
    // Word by word, because a text may have several lines.
    for (const { 0: word, index } of node.data.matchAll(/\S+/g)) {
      range.setStart(node, index);
      range.setEnd(node, index + word.length);
      const place = range.getBoundingClientRect();
      context.save();
      context.translate(place.left, place.top + place.height / 2);
      if (style.writingMode === 'vertical-rl') {
        context.translate(place.width / 2, place.height / 2);
        context.rotate(-Math.PI / 2);
      }
      context.fillText(style.textTransform === 'uppercase' ? word.toUpperCase() : word, 0, 0);
      context.restore();
    }
  }
  context.restore();
}
