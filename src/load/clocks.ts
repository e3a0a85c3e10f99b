import { GmsiError } from '../errors.ts';
import type { Log } from '../log.ts';
import { dayAt, firstUnsettledDayAt } from '../plan/days.ts';
import type { ServiceTime } from '../service/clock.ts';
import { minute } from '../terminal/table.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import { WarehouseClockWrong } from '../warehouse/errors.ts';
import { clockDifference } from '../warehouse/health.ts';
import type { AskedDays } from '../warehouse/tables/readings.ts';
import type { LoadEnd } from './ends.ts';

/** Clocks that differ by more milliseconds than this cause a warning. NTP keeps them within a fraction of a second. */
export const worthAWarning = 60_000;

/** If clocks differ by more milliseconds than this, no day counts as covered: a clock that is ahead ends days too early. */
const tooFarApart = 3_600_000;

/** The clocks differ too much to tell which days are over. */
export class ClocksApart extends GmsiError {
  override readonly kind = 'skippable';
}

export type Clocks = ReturnType<typeof watchClocks>;

/**
 * Watches the clocks of this machine and of the service. The earlier one decides which days are settled: a clock that is ahead
 * would mark days as covered before they are over, and the rest of their headlines would never be requested.
 * @param service `undefined` until an answer has carried the time
 */
export function watchClocks(machine: () => Date, service: () => ServiceTime | undefined, log: Log) {
  /** Milliseconds by which the service's clock is ahead of this machine's. */
  let ahead = 0;
  let apart: ClocksApart | undefined;
  let isWarned = false;

  return {
    machine,
    /** The time by the earlier clock. */
    now: () => earliest(machine()),
    earliest,
    /** The days of what was requested when this machine's clock showed `at`. If the clocks are too far apart, none was settled. */
    daysAt: (at: Date, lookbackDays: number): AskedDays => ({
      askedOn: dayAt(earliest(at)).toString(),
      settledBefore: apart ? '-infinity' : firstUnsettledDayAt(earliest(at), lookbackDays),
    }),
    /** Reads the service's clock, which comes with its answers. */
    compare(): void {
      const time = service();
      if (time) ahead = aheadBy(time, machine());
      const difference = Math.abs(ahead);
      if (difference > tooFarApart) apart ??= new ClocksApart(describe(difference), { hint });
      if (difference <= worthAWarning || isWarned) return;
      isWarned = true;
      log.warn(`${describe(difference)} Fix the wrong clock (NTP).`);
    },
    /** Set once the clocks differed by more than an hour. */
    get apart(): ClocksApart | undefined {
      return apart;
    },
  };

  /** Returns what the earlier clock showed when this machine's clock showed `at`. */
  function earliest(at: Date): Date {
    return new Date(at.getTime() + Math.min(0, ahead));
  }

  function describe(difference: number): string {
    const now = machine().getTime();
    const shown = `this machine's shows ${minute(now)}, the service's ${minute(now + ahead)}`;
    return `The clocks are ${span(difference)} apart (UTC): ${shown}.`;
  }
}

/**
 * Compares the database's clock, by which all times are stored, with this machine's. Each transaction that writes rows does so, too.
 * @throws WarehouseClockWrong before a request is spent
 */
export async function compareWarehouse(warehouse: Warehouse, log: Log): Promise<void> {
  const ahead = (await clockDifference(warehouse)) * 1000;
  const what = `this machine's is ${span(Math.abs(ahead))} ${ahead > 0 ? 'ahead' : 'behind'}`;
  if (Math.abs(ahead) > tooFarApart) throw new WarehouseClockWrong(what);
  if (Math.abs(ahead) > worthAWarning)
    log.warn(
      `The clocks of this machine and the warehouse's server differ: ${what}. Fix the wrong clock (NTP).`,
    );
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
  const units = { days: 86_400_000, hours: 3_600_000, minutes: 60_000 };
  const [name, unit] = Object.entries(units).find(([, unit]) => ms >= 2 * unit) ?? ['seconds', 1000];
  return `${Math.round(ms / unit)} ${name}`;
}
