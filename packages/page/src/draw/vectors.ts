import uPlot from 'uplot';

type Attributes = Readonly<Record<string, string | number | undefined>>;

/** What XML does not allow, and a little more: control characters, lone surrogates and unassigned characters. */
const unwritable = /[\p{Cc}\p{Cs}\p{Cn}]/gu;

/** Makes an element of SVG. */
export function vector(name: string, attributes: Attributes, ...inside: (Element | string)[]): SVGElement {
  const element = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const [key, value] of Object.entries(attributes))
    if (value !== undefined) element.setAttribute(key, String(value));
  element.append(...inside.map((one) => (typeof one === 'string' ? one.replace(unwritable, '') : one)));
  return element;
}

/** Returns a fill or a stroke with its opacity apart: SVG 1.1, which office programs read, has no `rgba()`. */
export function paint(name: 'fill' | 'stroke', colour: string, alpha = 1): Attributes {
  const [, rgb, opacity = 1] = /^rgba\((.*), ([\d.]+)\)$/.exec(colour) ?? [];
  const both = Number(opacity) * alpha;
  return {
    [name]: rgb ? `rgb(${rgb})` : colour,
    [`${name}-opacity`]: both < 1 ? Number(both.toFixed(3)) : undefined,
  };
}

/** Returns a matrix as an attribute. */
export const placed = (matrix: DOMMatrix) => ({
  transform: matrix.isIdentity
    ? undefined
    : `matrix(${['a', 'b', 'c', 'd', 'e', 'f'].map((key) => Number(matrix[key as 'a'].toFixed(5))).join(' ')})`,
});

/** Rounds a length in pixels, so that files stay small. */
export const short = (length: number) => Number(length.toFixed(3));

/** A path that keeps how it was made as SVG path data, which browsers do not give back. */
class Written extends Path2D {
  d: string;
  copies: { readonly d: string; readonly matrix: DOMMatrix }[] = [];
  constructor(path: Path2D | string = '') {
    super(path);
    this.d = path instanceof Written ? path.d : String(path);
  }
  override moveTo(x: number, y: number) {
    super.moveTo(x, y);
    this.d += `M${short(x)} ${short(y)}`;
  }
  override lineTo(x: number, y: number) {
    super.lineTo(x, y);
    this.d += `${this.d ? 'L' : 'M'}${short(x)} ${short(y)}`;
  }
  override rect(x: number, y: number, width: number, height: number) {
    super.rect(x, y, width, height);
    this.d += `M${short(x)} ${short(y)}h${short(width)}v${short(height)}h${short(-width)}z`;
  }
  // Only whole circles are drawn.
  override arc(x: number, y: number, radius: number, from: number, to: number) {
    super.arc(x, y, radius, from, to);
    const half = (way: number) => `a${radius} ${radius} 0 0 1 ${short(way)} 0`;
    this.d += `M${short(x - radius)} ${short(y)}${half(2 * radius)}${half(-2 * radius)}z`;
  }
  override addPath(path: Written, matrix: DOMMatrix) {
    super.addPath(path, matrix);
    this.copies.push({ d: path.d, matrix });
  }
}

/** How far below its anchor a text has its baseline, in font sizes: office programs ignore `dominant-baseline`. */
export const toBaseline = { top: 0.81, middle: 0.31, bottom: -0.19 } as const;
const anchors = { center: 'middle', right: 'end' } as const;

/** The plots of the page, by their canvases. */
export const plots = new WeakMap<HTMLCanvasElement, uPlot>();

/**
 * Draws a plot again, and returns what was drawn as SVG. Its context and `Path2D` take notes meanwhile.
 * @param defs gets the clipping paths
 */
export function vectorsOf(plot: uPlot, defs: SVGElement): SVGElement {
  const { ctx } = plot;
  const drawn = vector('g', placed(new DOMMatrix().scale(1 / uPlot.pxRatio)));
  let path = new Written();
  let clips: string[] = [];
  const saved: string[][] = [];
  const idOf = ({ d }: Written) => {
    const clip = vector('clipPath', {}, vector('path', { d, ...placed(ctx.getTransform()) }));
    const same = [...defs.children].find(({ innerHTML }) => innerHTML === clip.innerHTML);
    if (same) return same.id;
    clip.id = `clip-${defs.childElementCount}`;
    defs.append(clip);
    return clip.id;
  };
  const add = (one: SVGElement) =>
    drawn.append(clips.reduceRight((inner, id) => vector('g', { 'clip-path': `url(#${id})` }, inner), one));
  const draw = (of: Written, look: Attributes) => {
    for (const { d, matrix } of [{ d: of.d, matrix: new DOMMatrix() }, ...of.copies])
      if (d) add(vector('path', { d, ...placed(ctx.getTransform().multiply(matrix)), ...look }));
  };
  const fill = (of = path) => draw(of, paint('fill', String(ctx.fillStyle), ctx.globalAlpha));
  const notes = {
    save: () => saved.push(clips),
    restore: () => {
      clips = saved.pop() ?? [];
    },
    clip: (of = path) => {
      clips = [...clips, idOf(of)];
    },
    beginPath: () => {
      path = new Written();
    },
    moveTo: (x: number, y: number) => path.moveTo(x, y),
    lineTo: (x: number, y: number) => path.lineTo(x, y),
    rect: (x: number, y: number, width: number, height: number) => path.rect(x, y, width, height),
    fill,
    fillRect: (x: number, y: number, width: number, height: number) => {
      const rect = new Written();
      rect.rect(x, y, width, height);
      fill(rect);
    },
    stroke: (of = path) =>
      draw(of, {
        fill: 'none',
        ...paint('stroke', String(ctx.strokeStyle), ctx.globalAlpha),
        'stroke-width': ctx.lineWidth,
        'stroke-linejoin': ctx.lineJoin,
        'stroke-linecap': ctx.lineCap,
        'stroke-dasharray': ctx.getLineDash().join(' ') || undefined,
      }),
    fillText: (text: string, x: number, y: number) => {
      if (text === '') return;
      const size = Number.parseFloat(ctx.font);
      const look = {
        ...placed(ctx.getTransform()),
        'font-size': size,
        'text-anchor': anchors[ctx.textAlign as 'right'],
        ...paint('fill', String(ctx.fillStyle), ctx.globalAlpha),
      };
      const baseline = y + size * (toBaseline[ctx.textBaseline as 'top'] ?? 0);
      add(vector('text', { x: short(x), y: short(baseline), ...look }, text));
    },
  };
  const real = window.Path2D;
  try {
    window.Path2D = Written;
    for (const [name, note] of Object.entries<(...given: never[]) => unknown>(notes))
      Object.assign(ctx, {
        [name]: (...given: never[]) => {
          note(...given);
          (CanvasRenderingContext2D.prototype[name as 'fill'] as typeof note).apply(ctx, given);
        },
      });
    // A batch is drawn before it returns.
    plot.batch(() => plot.redraw(true));
  } finally {
    window.Path2D = real;
    for (const name of Object.keys(notes)) Reflect.deleteProperty(ctx, name);
  }
  return drawn;
}
