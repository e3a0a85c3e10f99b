const whole = new Intl.NumberFormat('en-US');

export function number(count: number): string {
  return whole.format(count);
}

export function counted(count: number, one: string, many = `${one}s`): string {
  return `${number(count)} ${count === 1 ? one : many}`;
}

/** Writes a score from -1 to 1 with its sign; zero has none. */
export function score(value: number | null, digits = 3): string {
  if (value === null) return '–';
  const size = Math.abs(value).toFixed(digits);
  return Number(size) === 0 ? size : `${value < 0 ? '−' : '+'}${size}`;
}

/** Writes a share in percent; 100% only if nothing is missing. */
export function share(part: number, whole: number): string {
  if (whole === 0) return '–';
  return part === whole ? '100%' : `${(Math.floor((part / whole) * 1000) / 10).toFixed(1)}%`;
}

export function percent(part: number | null): string {
  return part === null ? '–' : `${Math.round(part * 100)}%`;
}
