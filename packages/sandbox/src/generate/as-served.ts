import { asShare, mix, Random } from '../random.ts';

const HOUR = 3_600_000;

/** See `Changes` in the options. */
interface ChangeShares {
  readonly late: number;
  readonly revised: number;
  readonly withdrawn: number;
}

/** Something that may change after its publication: a headline or event. */
export interface Changing {
  /** Milliseconds since 1970, whole seconds. */
  readonly publishedAt: number;
  /** Seed of its later changes. */
  readonly fate: number;
}

/** Returns the items as they are served now, without those that are not. */
export function served<T extends Changing>(
  items: readonly T[],
  {
    settings: { changes },
    now,
  }: { readonly settings: { readonly changes: ChangeShares }; readonly now: number },
  revise: (item: T, random: Random) => T,
): T[] {
  return items.map((item) => asServed(item, changes, now, revise)).filter((item) => item !== null);
}

/** Returns the item as served at `now` (milliseconds since 1970), or `null` if it is not served yet or no longer. */
function asServed<T extends Changing>(
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

/** Returns a share for each purpose, so that one kind of change does not affect another. */
function shareOf(item: Changing, purpose: number): number {
  return asShare(mix(item.fate, purpose));
}

/** Returns milliseconds between two numbers of hours. */
function between(leastHours: number, mostHours: number, share: number): number {
  return Math.round(HOUR * (leastHours + (mostHours - leastHours) * share));
}
