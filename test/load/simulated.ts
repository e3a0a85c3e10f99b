import { expect } from 'vitest';
import type { Job } from '../../src/config/job.ts';
import { type Sandbox, type SandboxOptions, startSandbox } from '../../src/sandbox/index.ts';
import type { Warehouse } from '../../src/warehouse/connect.ts';
import { runSync } from '../support/run-backfill.ts';
import { heldBy, servedBy, type TruthScope } from '../support/truth.ts';
import { coverageOf } from '../support/warehouse-state.ts';

export const dayMs = 24 * 3600 * 1000;
// Years ahead, so that nothing that the warehouse dates by its own clock counts as seen in the simulated month.
export const begin = Date.parse('2040-03-01T02:00:00Z');
export const scope: TruthScope = {
  countries: ['US', 'MT'],
  topics: ['Inflation-Food', 'Tension'],
  from: '2040-02-01',
  to: '2040-04-30',
};
export const dayOf = (time: number) => new Date(time).toISOString().slice(0, 10);

interface Simulated {
  readonly sandbox: Sandbox;
  readonly at: (time: number) => () => Date;
}

/** A sandbox whose clock a test moves. */
export async function aSandbox(options: SandboxOptions): Promise<Simulated & AsyncDisposable> {
  let now = begin;
  const sandbox = await startSandbox({ limits: null, ...options, clock: () => new Date(now) });
  return {
    sandbox,
    at(time) {
      now = time;
      return () => new Date(time);
    },
    [Symbol.asyncDispose]: () => sandbox[Symbol.asyncDispose](),
  };
}

/** Twice a day: what a sync costs here is what these tests take. */
export const syncsADay = 2;

/** Syncs for so many days; after each, what may be uncovered is checked. */
export async function syncFor(
  days: number,
  { job, db, sandbox, at }: { job: Job; db: Warehouse } & Simulated,
  from = begin,
): Promise<{ seriesSkipped: number }> {
  let seriesSkipped = 0;
  for (let time = from; time < from + days * dayMs; time += dayMs / syncsADay) {
    const { outcome, ...sync } = await runSync({ job, db, sandbox, clock: at(time) });
    expect(outcome).toBe('done');
    seriesSkipped += sync.seriesSkipped;
    const oldest = dayOf(time - job.cadence.maxUncoveredDays * dayMs);
    const uncovered = Object.entries(await coverageOf(db)).filter(
      // One range from the first day on: nothing was passed over.
      ([, covered]) =>
        !covered.startsWith('{[2040-02-01,') || covered.includes('),[') || endOf(covered) < oldest,
    );
    expect(uncovered).toEqual([]);
  }
  return { seriesSkipped };
}

const endOf = (covered: string) => covered.slice(-12, -2);

/** Everything on days that are covered is exactly as the service has it. */
export async function expectCoveredDaysExact(db: Warehouse, { sandbox }: Simulated): Promise<void> {
  for (const [name, covered] of Object.entries(await coverageOf(db))) {
    const [, country, topic] = /^(\S+) (.*) COMBINED$/.exec(name)!;
    const last = dayOf(Date.parse(endOf(covered)) - dayMs);
    const days = { countries: [country!], topics: [topic!], from: scope.from, to: last };
    expect(await heldBy(db, days)).toEqual(servedBy(sandbox, days));
  }
}
