import { GmsiError } from '../errors.ts';
import type { Log } from '../log.ts';
import type { ServiceTime } from '../service/clock.ts';
import type { LoadEnd } from './ends.ts';

/**
 * Clocks that differ by more than this are worth a warning, in milliseconds: NTP keeps them within a fraction of a second.
 */
export const worthAWarning = 60_000;

/**
 * If clocks differ by more than this, no day counts as covered, in milliseconds: a clock that is ahead ends days too early.
 */
const tooFarApart = 3_600_000;

/** How long a reading of the database's clock is used, in milliseconds. */
const readEvery = 60_000;

/** The clocks differ too much to tell which days are over. */
export class ClocksApart extends GmsiError {
  override readonly kind = 'skippable';
}

/**
 * The clocks of this machine, the database and the service. The earliest one decides which days are settled: with a clock
 * that is ahead, days would count as covered before they are over, and the rest of their headlines would never be asked for.
 */
export interface Clocks {
  /** The time by the earliest of the known clocks. */
  readonly now: () => Date;
  /** What the earliest clock showed when this machine's clock showed `at`. */
  readonly earliest: (at: Date) => Date;
  readonly machine: () => Date;
  /** Reads the other clocks. The database's is read once a minute, the service's comes with its answers. */
  compare(): Promise<void>;
  /** Set once they were found more than an hour apart. */
  readonly apart: ClocksApart | undefined;
}

export interface ClockSources {
  readonly machine: () => Date;
  readonly database: () => Promise<Date>;
  /** `undefined` if the service has not said it. */
  readonly service: () => ServiceTime | undefined;
  readonly log: Log;
}

export function watchClocks({ machine, database, service, log }: ClockSources): Clocks {
  /** By how many milliseconds the others are ahead of this machine's clock. */
  const ahead = { database: 0, service: 0 };
  let readAt: Date | undefined;
  let apart: ClocksApart | undefined;
  let isWarned = false;

  async function readDatabase(): Promise<void> {
    const sentAt = machine();
    if (readAt && Math.abs(sentAt.getTime() - readAt.getTime()) < readEvery) return;
    const time = await database();
    const answeredAt = machine();
    // The database reads its clock in the middle of the round trip.
    ahead.database = time.getTime() - (sentAt.getTime() + answeredAt.getTime()) / 2;
    readAt = answeredAt;
  }

  function readService(): void {
    const time = service();
    if (!time) return;
    ahead.service = aheadBy(time, machine());
  }

  return {
    machine,
    now: () => earliest(machine()),
    earliest,
    async compare() {
      await readDatabase();
      readService();
      const offsets = [0, ahead.database, ahead.service];
      const difference = Math.max(...offsets) - Math.min(...offsets);
      if (difference > tooFarApart) apart ??= new ClocksApart(describe(difference), { hint });
      if (difference <= worthAWarning || isWarned) return;
      isWarned = true;
      log.warn(`${describe(difference)} Set the wrong one by NTP.`);
    },
    get apart() {
      return apart;
    },
  };

  function earliest(at: Date): Date {
    return new Date(at.getTime() + Math.min(0, ahead.database, ahead.service));
  }

  function describe(difference: number): string {
    const now = machine().getTime();
    const shown = [
      `this machine's shows ${minute(now)}`,
      `the database's ${minute(now + ahead.database)}`,
      ...(service() ? [`the service's ${minute(now + ahead.service)}`] : []),
    ];
    return `The clocks are ${span(difference)} apart (UTC): ${shown.join(', ')}.`;
  }
}

/**
 * By how many milliseconds the service's clock is ahead of another, not counting the time that its answer may have taken.
 */
export function aheadBy({ date, mayBeLaterMs }: ServiceTime, other: Date): number {
  const least = date.getTime() - other.getTime();
  return least > 0 ? least : Math.min(0, least + mayBeLaterMs);
}

const hint =
  'No day was counted as covered. Set the wrong clock by NTP and run it again: what is loaded stays, and its days are asked for once more.';

/** The end of a load, given its clocks: if they differ too much, it is incomplete whatever it has loaded. */
export function endByClocks(end: LoadEnd, { apart }: Clocks): LoadEnd {
  const isFine = end.outcome === 'done' || (end.outcome === 'incomplete' && end.error === undefined);
  return apart && isFine ? { outcome: 'incomplete', error: apart } : end;
}

function minute(time: number): string {
  return new Date(time).toISOString().slice(0, 16).replace('T', ' ');
}

function span(ms: number): string {
  const [unit, name] = (
    [
      [86_400_000, 'days'],
      [3_600_000, 'hours'],
      [60_000, 'minutes'],
    ] as const
  ).find(([unit]) => ms >= 2 * unit) ?? [1000, 'seconds'];
  return `${Math.round(ms / unit)} ${name}`;
}
