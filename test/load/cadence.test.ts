import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import type { Job } from '../../src/config/job.ts';
import { type Sandbox, type SandboxOptions, startSandbox } from '../../src/sandbox/index.ts';
import type { Warehouse } from '../../src/warehouse/connect.ts';
import { reportCadence } from '../../src/warehouse/tables/cadence.ts';
import { aJobFor, runBackfill, runSync } from '../support/run-backfill.ts';
import { aWarehouse } from '../support/test-warehouse.ts';
import { heldBy, servedBy, type TruthScope } from '../support/truth.ts';
import { coverageOf } from '../support/warehouse-state.ts';
import { watchRequests } from '../support/watch-requests.ts';

const dayMs = 24 * 3600 * 1000;
// Years ahead, so that nothing that the warehouse dates by its own clock counts as seen in the simulated month.
const begin = Date.parse('2040-03-01T02:00:00Z');
const scope: TruthScope = {
  countries: ['US', 'MT'],
  topics: ['Inflation-Food', 'Tension'],
  from: '2040-02-01',
  to: '2040-04-30',
};
const series = 4;
const dayOf = (time: number) => new Date(time).toISOString().slice(0, 10);

const windowScope = {
  ...{ feed: 'gmsi-headlines', matchType: 'COMBINED', tickers: [''], variants: [''] },
  ...{ countries: scope.countries, topics: scope.topics, from: scope.from, to: scope.to },
};

interface Simulated {
  readonly sandbox: Sandbox;
  readonly at: (time: number) => () => Date;
}

/** A sandbox whose clock a test moves. */
async function aSandbox(options: SandboxOptions): Promise<Simulated & AsyncDisposable> {
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

function aSpacedJob(overrides: Record<string, unknown> = {}): Job {
  const cadence = { adaptive: true, longest: 'P5D', max_uncovered: 'P12D' };
  return aJobFor(scope, { end_date: 'today', cadence, ...overrides }, '2040-03-01');
}

/** Twice a day: what a sync costs here is what these tests take. */
const syncsADay = 2;

/** Syncs for so many days; after each, what may be uncovered is checked. */
async function syncFor(
  days: number,
  { job, db, sandbox, at }: { job: Job; db: Warehouse } & Simulated,
  from = begin,
): Promise<{ leftOut: number; recheckDays: number[] }> {
  let leftOut = 0;
  const recheckDays: number[] = [];
  for (let time = from; time < from + days * dayMs; time += dayMs / syncsADay) {
    const { outcome, cadence } = await runSync({ job, db, sandbox, clock: at(time) });
    expect(outcome).toBe('done');
    leftOut += cadence.leftOut;
    recheckDays.push(cadence.recheckDays);
    const oldest = dayOf(time - job.cadence.maxUncoveredDays * dayMs);
    const uncovered = Object.entries(await coverageOf(db)).filter(
      // One range from the first day on: nothing was passed over.
      ([, covered]) =>
        !covered.startsWith('{[2040-02-01,') || covered.includes('),[') || endOf(covered) < oldest,
    );
    expect(uncovered).toEqual([]);
  }
  return { leftOut, recheckDays };
}

const endOf = (covered: string) => covered.slice(-12, -2);

/** Everything on days that are covered is exactly as the service has it. */
async function expectCoveredDaysExact(db: Warehouse, { sandbox }: Simulated): Promise<void> {
  for (const [name, covered] of Object.entries(await coverageOf(db))) {
    const [, country, topic] = /^(\S+) (.*) COMBINED$/.exec(name)!;
    const last = dayOf(Date.parse(endOf(covered)) - dayMs);
    const days = { countries: [country!], topics: [topic!], from: scope.from, to: last };
    expect(await heldBy(db, days)).toEqual(servedBy(sandbox, days));
  }
}

describe('weeks of syncs with an adaptive cadence', () => {
  const days = 24;

  it('spends fewer requests than every series at every sync, keeps its bounds and loses nothing', async () => {
    await using warehouse = await aWarehouse();
    const { db } = warehouse;
    // Changes end two weeks after publication, within the lookback.
    await using simulated = await aSandbox({
      volume: 0.15,
      changes: { late: 0.1, revised: 0.2, withdrawn: 0 },
    });
    const { sandbox, at } = simulated;
    const job = aSpacedJob({
      lookback: 'P15D',
      cadence: { adaptive: true, longest: 'P5D', max_uncovered: 'P18D' },
    });
    await runBackfill({ job, db, sandbox, clock: at(begin) });
    const requests = watchRequests(sandbox);
    const { leftOut } = await syncFor(days, { job, db, ...simulated });

    const atEverySync = days * syncsADay * series * 2;
    expect(leftOut).toBeGreaterThan(10);
    expect(requests.length).toBeLessThan(atEverySync);
    await expectCoveredDaysExact(db, simulated);
    const report = await reportCadence(db, windowScope);
    expect(report).toMatchObject({ leftOut, requestsSaved: atEverySync - requests.length });
    expect(report.lateRows).toBeGreaterThan(0);
    expect(report.lateBySeconds).toBeLessThanOrEqual(5 * 24 * 3600);

    // Once every series has been polled, all is as the service has it.
    const everySync = aSpacedJob({ lookback: 'P15D', cadence: {} });
    await runSync({ job: everySync, db, sandbox, clock: at(begin + days * dayMs) });
    const all = { ...scope, to: dayOf(begin + days * dayMs) };
    expect(await heldBy(db, all)).toEqual(servedBy(sandbox, all));
  });
});

describe('a series without news', () => {
  const silent: TruthScope = { ...scope, countries: ['MT'], topics: ['Tension'] };
  const cadence = { adaptive: true, longest: 'P2D', max_uncovered: 'P12D' };
  const job = aJobFor(silent, { end_date: 'today', cadence }, '2040-03-01');
  const polledAt = async (db: Warehouse) =>
    (await sql<{ at: Date }>`select polled_at as at from gmsi.cadence`.execute(db)).rows[0]!.at.getTime();

  it('is polled at every sync again as soon as it has some', async () => {
    await using warehouse = await aWarehouse();
    const { db } = warehouse;
    const at = (time: number) => () => new Date(time);
    const syncAt = (sandbox: Sandbox, time: number) => runSync({ job, db, sandbox, clock: at(time) });
    {
      await using sandbox = await startSandbox({ limits: null, volume: 0, clock: at(begin) });
      await runBackfill({ job, db, sandbox, clock: at(begin) });
    }
    let time = begin;
    {
      await using sandbox = await startSandbox({ limits: null, volume: 0, clock: () => new Date(time) });
      for (; time < begin + 12 * dayMs; time += dayMs / 4) await syncAt(sandbox, time);
      expect((await syncAt(sandbox, time)).cadence).toMatchObject({ leftOut: 1, requestsSaved: 2 });
    }
    // The news comes while the series is left out, and is found within the bound.
    await using sandbox = await startSandbox({ limits: null, volume: 20, clock: () => new Date(time) });
    const quietSince = await polledAt(db);
    for (let found = 0; found === 0; time += dayMs / 4)
      found = (await syncAt(sandbox, time)).totals.rows_inserted;
    expect(time - dayMs / 4 - quietSince).toBeLessThanOrEqual(2.25 * dayMs);
    for (let run = 0; run < 3; run++, time += dayMs / 4)
      expect((await syncAt(sandbox, time)).cadence.leftOut).toBe(0);
  });

  it('is polled at every sync where the cadence is not adaptive', async () => {
    await using warehouse = await aWarehouse();
    const { db } = warehouse;
    let time = begin;
    await using sandbox = await startSandbox({ limits: null, volume: 0, clock: () => new Date(time) });
    const requests = watchRequests(sandbox);
    const plain = aJobFor(silent, { end_date: 'today' }, '2040-03-01');
    const clock = () => new Date(time);
    for (; time < begin + 10 * dayMs; time += dayMs / 2) await runSync({ job: plain, db, sandbox, clock });
    expect(requests).toHaveLength(20 * 2);
  });
});

describe('days that changes seldom reach', () => {
  const busy: TruthScope = { ...scope, countries: ['US'], topics: ['Inflation-Food'] };
  const cadence = { adaptive: true, longest: 'P5D', max_uncovered: 'P20D' };
  const overrides = { end_date: 'today', lookback: 'P15D', cadence };
  const job = aJobFor(busy, overrides, '2040-03-01');

  /** Versions that were replaced two days after publication. */
  async function twoDaysOldChanges(db: Warehouse, many: number): Promise<void> {
    await sql`
      insert into gmsi.headline_revisions (headline_id, country, topic, match_type, published_at, first_seen_at,
                                           known_from, known_to, is_backfilled, load_id, reason)
      select gen_random_uuid(), 'DE', 'Elections', 'COMBINED', at, at, at, at + interval '2 days', false, 0, 'rescored'
      from generate_series(timestamptz '2040-02-10 12:00Z', '2040-02-20 12:00Z', interval '10 days' / ${many}::integer) as at
    `.execute(db);
  }

  it('are drained again only before they are covered', async () => {
    await using warehouse = await aWarehouse();
    const { db } = warehouse;
    await twoDaysOldChanges(db, 200);
    await using simulated = await aSandbox({ volume: 3, changes: { late: 0.1, revised: 0.2, withdrawn: 0 } });
    const { sandbox, at } = simulated;
    await runBackfill({ job, db, sandbox, clock: at(begin) });
    const requests = watchRequests(sandbox);
    const { leftOut, recheckDays } = await syncFor(16, { job, db, ...simulated });

    expect(leftOut).toBe(0);
    expect(new Set(recheckDays)).toEqual(new Set([2]));
    const windows = requests.filter(({ query, token }) => query.start_date !== undefined && token === null);
    const lengths = windows.map(
      ({ query }) => (Date.parse(query.end_date!) - Date.parse(query.start_date!)) / dayMs,
    );
    // Three days and the one that end_date names beyond, but for the few that settle.
    expect(lengths.filter((days) => days === 3).length).toBeGreaterThan(27);
    expect(Math.max(...lengths)).toBeGreaterThan(15);
    expect(requests.length).toBeLessThan(16 * syncsADay * 3);
    await expectCoveredDaysExact(db, simulated);
  });

  it('are drained again at every sync while too few changes are known', async () => {
    await using warehouse = await aWarehouse();
    const { db } = warehouse;
    await twoDaysOldChanges(db, 50);
    await using simulated = await aSandbox({ volume: 0.1 });
    const { recheckDays } = await syncFor(1, { job, db, ...simulated });
    expect(recheckDays).toEqual([15, 15]);
  });

  it('are gone back to where later ones were covered before them', async () => {
    await using warehouse = await aWarehouse();
    const { db } = warehouse;
    await twoDaysOldChanges(db, 200);
    await using simulated = await aSandbox({ volume: 1 });
    const { sandbox, at } = simulated;
    const short = aJobFor(busy, { ...overrides, lookback: 'P6D' }, '2040-03-01');
    const syncOn = (day: number) => runSync({ job: short, db, sandbox, clock: at(begin + day * dayMs) });
    await runBackfill({ job: short, db, sandbox, clock: at(begin) });
    await syncOn(1);
    // A window that nothing but its own poll has asked for fails until its days have settled.
    const stubborn = { kind: 'refuse', status: 400, detail: 'not now' } as const;
    sandbox.script([{ ...stubborn, times: 2, match: ({ query }) => query.start_date === dayOf(begin) }]);
    for (const day of [2, 5]) expect((await syncOn(day)).outcome).toBe('incomplete');
    await syncOn(8);
    expect(Object.values(await coverageOf(db))).toEqual([expect.stringContaining('),[')]);
    for (let day = 9; day <= 20; day++) await syncOn(day);
    expect(Object.values(await coverageOf(db))).toEqual([expect.stringMatching(/^{[^{}]*}$/)]);
    expect(Object.values(await coverageOf(db))[0]).not.toContain('),[');
    await expectCoveredDaysExact(db, simulated);
  });
});
