/** A range of days (UTC), both ends included, and how many series have it. */
export interface Stretch {
  readonly from: string;
  readonly to: string;
  readonly series: number;
}

/**
 * Draws a period as a strip of blocks. A darker block has more covered days; a full block is complete, a dot is empty.
 * @param stretches the covered days, within the period
 * @param series the number of all series
 * @param columns the most columns of the strip; a day takes at most one
 */
export function coverageStrip(
  stretches: readonly Stretch[],
  { from, to }: Pick<Stretch, 'from' | 'to'>,
  series: number,
  columns: number,
): string {
  const first = dayNumber(from);
  const days = dayNumber(to) + 1 - first;
  const cells = Math.max(1, Math.min(columns, days));
  const perCell = days / cells;
  const covered = new Array<number>(cells).fill(0);
  for (const stretch of stretches) {
    const [begin, end] = [dayNumber(stretch.from) - first, dayNumber(stretch.to) + 1 - first];
    for (let cell = Math.floor(begin / perCell); cell < cells && cell * perCell < end; cell++) {
      const within = Math.min(end, (cell + 1) * perCell) - Math.max(begin, cell * perCell);
      covered[cell]! += Math.max(0, within) * stretch.series;
    }
  }
  return covered.map((sum) => shade(sum / (perCell * series))).join('');
}

/** Sums of parts of days are not exact. */
const nearly = 1e-9;

function shade(share: number): string {
  if (share > 1 - nearly) return '█';
  if (share < nearly) return '·';
  return '░▒▓'[Math.min(2, Math.floor(share * 3))]!;
}

function dayNumber(day: string): number {
  return Date.parse(day) / 86_400_000;
}

/**
 * Draws a budget as a bar: requests used, requests left, and at its end the reserve for syncs. A use too small for a column is
 * a thin line.
 */
export function budgetBar(
  { used, limit, reserve }: { readonly used: number; readonly limit: number; readonly reserve: number },
  columns: number,
): string {
  const width = Math.max(3, columns);
  const inColumns = (requests: number) =>
    Math.round((width * Math.min(requests, limit)) / Math.max(1, limit));
  const full = used >= limit ? width : Math.min(width - 1, inColumns(used));
  const begun = full === 0 && used > 0 ? '▏' : '';
  const room = width - full - begun.length;
  const kept = Math.min(room, Math.max(reserve > 0 ? 1 : 0, inColumns(reserve)));
  return '█'.repeat(full) + begun + '░'.repeat(room - kept) + '▒'.repeat(kept);
}
