/** The middle of some measurements; of an even number, the lower of the two in the middle. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor((sorted.length - 1) / 2)]!;
}

/** A measured value against the goal it was set, for the summary. */
export interface Verdict {
  readonly goal: string;
  readonly measured: string;
  readonly met: boolean;
}

export function thousands(value: number): string {
  return Math.round(value).toLocaleString('en-US');
}

export function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(0)} MB`;
}
