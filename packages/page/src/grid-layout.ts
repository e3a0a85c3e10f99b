export interface Place {
  readonly row: number;
  readonly column: number;
}

export interface GridColumn {
  readonly title: string;
  /** Neighbours of one group share a head; empty if there is none. */
  readonly group: string;
}

export interface Cell {
  /** CSS colours from left to right, with their shares of the cell. */
  readonly parts: readonly (readonly [colour: string, share: number])[];
  /** Opacity of the colours; default 1. */
  readonly strength?: number;
  /** Shows a state without relying on colours. */
  readonly mark?: 'frame' | 'hatch' | 'up' | 'down' | 'dot' | undefined;
}

export type CellAt = (row: number, column: number) => Cell;

/** Positions in CSS pixels, from the top left cell. */
type Layout = ReturnType<typeof layoutOf>;

/** The width of an average letter of a title: nothing measures texts, because a report has no browser. */
export const letter = 6.6;

export function layoutOf(
  rows: readonly string[],
  columns: readonly GridColumn[],
  width: number,
  {
    widest,
    down,
  }: {
    /** The most pixels of a column. */
    readonly widest: number;
    readonly down: (across: number) => number;
  },
) {
  const begins = columns.map(({ group }, index) => index > 0 && group !== columns[index - 1]!.group);
  const across = Math.max(2, Math.min(widest, width / Math.max(1, columns.length)));
  const lefts = columns.map((_, index) => Math.round(index * across));
  const rights = columns.map((_, index) => Math.round((index + 1) * across));
  // Columns with a common head.
  const groups: { title: string; left: number; width: number }[] = [];
  for (const [index, { group }] of columns.entries()) {
    const left = lefts[index]!;
    if (index === 0 || begins[index]) groups.push({ title: group, left, width: 0 });
    const last = groups.at(-1)!;
    last.width = rights[index]! - last.left;
  }
  const lettersOf = (texts: readonly string[]) => Math.max(0, ...texts.map(({ length }) => length));
  const longest = lettersOf(columns.map(({ title }) => title)) * letter + 8;
  // A title has several lines if each of its words fits, also one of wide letters.
  const word = lettersOf(columns.flatMap(({ title }) => title.split(/[ -]/))) * 7.05 + 1;
  const titles: 'none' | 'level' | 'upright' =
    longest === 8 || across < 9 ? 'none' : across >= word ? 'level' : 'upright';
  const high = down(across);
  return {
    rows,
    columns,
    across,
    down: high,
    lefts,
    rights,
    titles,
    groups: groups.some(({ title }) => title) ? groups : [],
    width: Math.ceil(columns.length * across),
    height: Math.ceil(rows.length * high),
    head: {
      none: 0,
      level: longest > 1.5 * across ? 45 : longest > across ? 32 : 18,
      upright: Math.min(longest, 190),
    }[titles],
  };
}

/** Returns where a cell is drawn, without the gap to its neighbours. */
export function boxOf({ lefts, rights, across, down }: Layout, { row, column }: Place) {
  const left = lefts[column]!;
  const top = Math.round(row * down);
  const width = Math.max(1, rights[column]! - left - (across >= 5 ? 1 : 0));
  return { left, top, width, height: Math.round((row + 1) * down) - top - 1 };
}

/** Returns the place at a point, if there is one. */
export function placeAt({ rows, lefts, rights, down }: Layout, x: number, y: number): Place | undefined {
  const column = lefts.findLastIndex((left) => left <= x);
  const row = Math.floor(y / down);
  return row < rows.length && column >= 0 && x < rights[column]! ? { row, column } : undefined;
}

/** The outline of all parts or marks that look the same: an SVG path. */
export interface Drawn {
  readonly mark: NonNullable<Cell['mark']> | 'fill';
  readonly colour: string;
  readonly strength: number;
  readonly path: string;
}

/** Draws the cells as a few paths, because thousands of elements would be slow. */
export function pathsOf(layout: Layout, cell: CellAt): Drawn[] {
  const drawn = new Map<string, { -readonly [Name in keyof Drawn]: Drawn[Name] }>();
  const add = (mark: Drawn['mark'], path: string, colour = '', strength = 1) => {
    const key = `${mark} ${colour} ${strength}`;
    const same = drawn.get(key);
    if (same) same.path += path;
    else drawn.set(key, { mark, colour, strength, path });
  };
  for (const row of layout.rows.keys())
    for (const column of layout.columns.keys()) {
      const one = cell(row, column);
      const { left, top, width, height } = boxOf(layout, { row, column });
      let [x, shares, others] = [left, 0, one.parts.length];
      // Every part is visible, however short its share is.
      const least = Math.min(2, width >> 2);
      for (const [colour, share] of one.parts) {
        shares += share;
        others -= 1;
        const wanted = Math.max(left + Math.round(shares * width), x + least);
        const until = Math.min(wanted, left + width - others * least);
        if (until > x) add('fill', rectangle(x, top, until - x, height), colour, one.strength);
        x = Math.max(x, until);
      }
      if (one.mark) add(one.mark, markPath(one.mark, left, top, width, height));
    }
  // Marks are above colours.
  return [...drawn.values()].toSorted((a, b) => Number(a.mark !== 'fill') - Number(b.mark !== 'fill'));
}

function rectangle(x: number, y: number, width: number, height: number): string {
  return `M${x} ${y}h${width}v${height}h${-width}z`;
}

function markPath(mark: NonNullable<Cell['mark']>, x: number, y: number, width: number, height: number) {
  if (mark === 'hatch') return rectangle(x, y, width, height);
  if (mark === 'frame') return rectangle(x + 0.5, y + 0.5, Math.max(0, width - 1), Math.max(0, height - 1));
  const [centre, middle, size] = [x + width / 2, y + height / 2, Math.min(width, height) / 4];
  if (mark === 'dot') return rectangle(centre - 1, middle - 1, 2, 2);
  const way = mark === 'up' ? 1 : -1;
  return `M${centre - size} ${middle + way * size}h${2 * size}l${-size} ${-2 * way * size}z`;
}
