const HOUR = 3_600_000;

/** The components of an hour's scores: averages are `sum / count` (docs/service.md, "Index feeds"). */
export interface HourlyComponents {
  /** When the hour begins, milliseconds since 1970. */
  readonly hour: number;
  readonly count: number;
  readonly sum: number;
  readonly absSum: number;
  /** Population standard deviation; 0 for a single score. */
  readonly std: number;
}

export interface Scored {
  readonly publishedAt: number;
  /** At most four decimals. */
  readonly score: number;
}

/** One set of components for each hour that has scores, in order of the hours. */
export function hourlyComponents(scored: readonly Scored[]): HourlyComponents[] {
  const scoresOf = new Map<number, number[]>();
  for (const { publishedAt, score } of scored) {
    const hour = publishedAt - (publishedAt % HOUR);
    const scores = scoresOf.get(hour);
    if (scores === undefined) scoresOf.set(hour, [score]);
    else scores.push(score);
  }
  return [...scoresOf].map(([hour, scores]) => componentsOf(hour, scores)).sort((a, b) => a.hour - b.hour);
}

/** The components of an hour in which nothing was published. */
export function emptyHour(hour: number): HourlyComponents {
  return { hour, count: 0, sum: 0, absSum: 0, std: 0 };
}

function componentsOf(hour: number, scores: readonly number[]): HourlyComponents {
  const sum = scores.reduce((total, score) => total + score, 0);
  const absSum = scores.reduce((total, score) => total + Math.abs(score), 0);
  const mean = sum / scores.length;
  const variance = scores.reduce((total, score) => total + (score - mean) ** 2, 0) / scores.length;
  // Sums of numbers with four decimals have four decimals; further digits are rounding errors.
  return {
    hour,
    count: scores.length,
    sum: round(sum, 4),
    absSum: round(absSum, 4),
    std: round(Math.sqrt(variance), 8),
  };
}

function round(value: number, decimals: number): number {
  // Adding 0 turns -0 into 0, because JSON has no -0.
  return Number(value.toFixed(decimals)) + 0;
}
