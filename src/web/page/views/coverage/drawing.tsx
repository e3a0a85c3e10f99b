import { daysOf, inWords, type Shown } from '../../draw/cells.ts';
import { states } from '../../draw/states.ts';
import { Scroll } from '../../parts.tsx';
import './coverage.css';

/** In CSS pixels; `titles` is the most room for upright titles, `letter` about the width of a letter. */
const size = { label: 150, titles: 175, down: 15, least: 9, most: 60, width: 900, gap: 1, letter: 5.9 };

/** Draws the matrix for a report, without a script: cells filled in proportion, one path for each state. */
export function CoverageDrawing({ shown }: { shown: Shown }) {
  const { rows, columns, counts, cells } = shown;
  if (rows.length === 0 || columns.length === 0) return null;
  const across = Math.max(size.least, Math.min(size.most, Math.floor(size.width / columns.length)));
  const longest = Math.max(...columns.map(({ title }) => title.length));
  const top = Math.min(size.titles, Math.ceil((longest + 1) * size.letter) + 5);
  const paths = new Map<string, string>();
  const fill = (state: string, x: number, y: number, wide: number) => {
    const rectangle = `M${rounded(x)} ${y}h${rounded(wide)}v${size.down - size.gap}h${rounded(-wide)}z`;
    paths.set(state, (paths.get(state) ?? '') + rectangle);
  };
  for (const row of rows.keys())
    for (const [column, { of }] of columns.entries()) {
      const at = (row * columns.length + column) * states.length;
      const all = of.length * cells.days;
      const [left, wide, y] = [size.label + column * across, across - size.gap, top + row * size.down];
      let x = left;
      for (const [index, state] of states.entries()) {
        const part = (counts[at + index]! / all) * wide;
        if (part === 0) continue;
        fill(state, x, y, part);
        x += part;
      }
      if (left + wide - x > 0.05) fill('never', x, y, left + wide - x);
      // A failure is visible, however short its share is.
      if (counts[at + states.indexOf('failed')]! > 0)
        paths.set(
          'mark',
          `${paths.get('mark') ?? ''}M${left} ${y}h${wide}v${size.down - size.gap}h${-wide}z`,
        );
    }
  const [width, height] = [size.label + across * columns.length, top + size.down * rows.length];
  const every = (length: number) => Array.from({ length }, (_, index) => index);
  const label = inWords(daysOf(shown, every(rows.length), every(columns.length)));
  return (
    <Scroll label="Coverage by series">
      <svg class="drawing" width={width} height={height} role="img" aria-label={label}>
        {rows.map(({ code, name }, row) => (
          <text key={code} x={0} y={top + row * size.down + 11}>
            {cut([code || 'all', name].filter(Boolean).join('  '), size.label)}
          </text>
        ))}
        {columns.map(({ title }, column) => {
          const [x, y] = [size.label + column * across + across / 2 + 3, top - 5];
          return (
            <text key={title} transform={`translate(${x} ${y}) rotate(-90)`}>
              {cut(title, size.titles)}
            </text>
          );
        })}
        {[...paths].map(([state, d]) => (
          <path key={state} class={state} d={d} />
        ))}
      </svg>
    </Scroll>
  );
}

function rounded(pixels: number): string {
  return pixels.toFixed(2).replace(/\.?0+$/, '');
}

/** Cuts a text to about so many pixels, because nothing here can measure it. */
function cut(text: string, pixels: number): string {
  const letters = Math.floor(pixels / size.letter) - 1;
  return text.length <= letters ? text : `${text.slice(0, letters - 1).trimEnd()}…`;
}
