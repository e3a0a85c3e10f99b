import { asShare, mix, Random } from '../random.ts';

const HOUR = 3_600_000;

/** The shares that change; see `Changes` of the options. */
export interface ChangeShares {
  readonly late: number;
  readonly revised: number;
  readonly withdrawn: number;
}

/** Something that is published at some time and may change later: headlines and events. */
export interface Changing {
  /** Milliseconds since 1970, whole seconds. */
  readonly publishedAt: number;
  /** A seed for its later changes. */
  readonly fate: number;
}

/** The item as it is served at `now` (milliseconds since 1970), or `null` while or once it is not served. */
export function asServed<T extends Changing>(
  item: T,
  changes: ChangeShares,
  now: number,
  revise: (item: T, random: Random) => T,
): T | null {
  const isLate = shareOf(item, 1) < changes.late;
  const arrivedAt = item.publishedAt + (isLate ? between(1, 96, shareOf(item, 2)) : 0);
  if (arrivedAt > now) return null;
  const isWithdrawn = shareOf(item, 3) < changes.withdrawn;
  if (isWithdrawn && arrivedAt + between(1, 480, shareOf(item, 4)) <= now) return null;
  const isRevised = shareOf(item, 5) < changes.revised;
  if (!isRevised || arrivedAt + between(2, 240, shareOf(item, 6)) > now) return item;
  return revise(item, new Random(mix(item.fate, 7)));
}

/** A separate share for each purpose, so that one kind of change does not affect another. */
function shareOf(item: Changing, purpose: number): number {
  return asShare(mix(item.fate, purpose));
}

/** A number of milliseconds between two numbers of hours. */
function between(leastHours: number, mostHours: number, share: number): number {
  return Math.round(HOUR * (leastHours + (mostHours - leastHours) * share));
}
