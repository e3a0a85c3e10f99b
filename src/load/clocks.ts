import { GmsiError } from '../errors.ts';
import type { Log } from '../log.ts';
import type { ServiceTime } from '../service/clock.ts';
import { minute } from '../terminal/table.ts';
import type { LoadEnd } from './ends.ts';

/** Clocks that differ by more milliseconds than this cause a warning. NTP keeps them within a fraction of a second. */
export const worthAWarning = 60_000;

/** If clocks differ by more milliseconds than this, no day counts as covered: a clock that is ahead ends days too early. */
const tooFarApart = 3_600_000;

/** The clocks differ too much to tell which days are over. */
export class ClocksApart extends GmsiError {
  override readonly kind = 'skippable';
}

/**
 * The clocks of this machine and of the service. The earlier one decides which days are settled: a clock that is ahead would
 * mark days as covered before they are over, and the rest of their headlines would never be requested.
 */
export interface Clocks {
  /** The time by the earlier clock. */
  readonly now: () => Date;
  /** What the earlier clock showed when this machine's clock showed `at`. */
  readonly earliest: (at: Date) => Date;
  readonly machine: () => Date;
  /** Reads the service's clock, which comes with its answers. */
  compare(): void;
  /** Set once the clocks differed by more than an hour. */
  readonly apart: ClocksApart | undefined;
}

export interface ClockSources {
  readonly machine: () => Date;
  /** `undefined` until an answer has carried the time. */
  readonly service: () => ServiceTime | undefined;
  readonly log: Log;
}

export function watchClocks({ machine, service, log }: ClockSources): Clocks {
  /** Milliseconds by which the service's clock is ahead of this machine's. */
  let ahead = 0;
  let apart: ClocksApart | undefined;
  let isWarned = false;

  return {
    machine,
    now: () => earliest(machine()),
    earliest,
    compare() {
      const time = service();
      if (time) ahead = aheadBy(time, machine());
      const difference = Math.abs(ahead);
      if (difference > tooFarApart) apart ??= new ClocksApart(describe(difference), { hint });
      if (difference <= worthAWarning || isWarned) return;
      isWarned = true;
      log.warn(`${describe(difference)} Fix the wrong clock (NTP).`);
    },
    get apart() {
      return apart;
    },
  };

  function earliest(at: Date): Date {
    return new Date(at.getTime() + Math.min(0, ahead));
  }

  function describe(difference: number): string {
    const now = machine().getTime();
    const shown = `this machine's shows ${minute(now)}, the service's ${minute(now + ahead)}`;
    return `The clocks are ${span(difference)} apart (UTC): ${shown}.`;
  }
}

/** Returns how many milliseconds the service's clock is ahead of another, at least: its answer may have been on its way. */
export function aheadBy({ date, mayBeLaterMs }: ServiceTime, other: Date): number {
  const least = date.getTime() - other.getTime();
  return least > 0 ? least : Math.min(0, least + mayBeLaterMs);
}

const hint =
  'No day was counted as covered. Fix the wrong clock (NTP) and run it again. Loaded rows are kept; their days ' +
  'are loaded once more.';

/** Turns the end of a load into `incomplete` if its clocks differ too much, whatever it has loaded. */
export function endByClocks(end: LoadEnd, { apart }: Clocks): LoadEnd {
  const isFine = end.outcome === 'done' || (end.outcome === 'incomplete' && end.error === undefined);
  return apart && isFine ? { outcome: 'incomplete', error: apart } : end;
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
