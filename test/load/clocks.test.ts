import { afterEach, describe, expect } from 'vitest';
import { ClocksApart, watchClocks } from '../../src/load/clocks.ts';
import { accessTo } from '../cli/gmsi.ts';
import { gmsiHere } from '../cli/in-process.ts';
import { aPlace } from '../cli/place.ts';
import { aLog } from '../support/a-log.ts';
import { aJobFor, runBackfill, runSync, stoppedAt } from '../support/run-backfill.ts';
import { aSandbox, serving } from '../support/serving.ts';
import { aWarehouse } from '../support/test-warehouse.ts';
import { heldBy, servedBy } from '../support/truth.ts';
import { coverageOf, sqlIn } from '../support/warehouse-state.ts';

const hour = 3_600_000;
const day = 24 * hour;
const series = { countries: ['US'], topics: ['Inflation-Food'] };
const scope = { ...series, from: '2026-11-01', to: '2026-11-20' };
const settings = { end_date: 'today', lookback: 'P3D', service: { end_date: 'inclusive', page_size: 24 } };
const job = aJobFor(scope, settings);

/** True time, and clocks that are off by so much. */
let truth = new Date('2026-11-20T12:00:00Z');
afterEach(() => {
  truth = new Date('2026-11-20T12:00:00Z');
});
const off = (ms: number) => () => new Date(truth.getTime() + ms);
const clocks = ({ machine = 0, service = 0 }) => ({ clock: off(machine), serviceClock: off(service) });

const it = serving({ clock: off(0), volume: 0.3 });

it('lookups are fetched again after a week by the clock of the service', async ({ db }) => {
  // Years from the time of this machine, which the database shows.
  let now = new Date('2040-03-01T12:00:00Z');
  const clock = () => now;
  await using sandbox = await aSandbox({ clock, volume: 0 });
  const early = aJobFor({ ...series, from: '2040-02-01', to: '2040-02-10' }, {}, '2040-03-01');
  const run = { job: early, db, sandbox, clock, serviceClock: 'as answered' } as const;
  await runBackfill(run);
  const first = sandbox.stats().requests;
  now = new Date('2040-03-08T11:00:00Z');
  await runBackfill(run);
  expect(sandbox.stats().requests).toBe(first);
  now = new Date('2040-03-08T12:01:00Z');
  await runBackfill(run);
  expect(sandbox.stats().requests, 'countries and topics').toBe(first + 2);
});

describe('clocks more than an hour apart', () => {
  it.for([
    ["the machine's 6 days ahead", { machine: 6 * day }],
    ["the service's an hour and a minute behind", { service: -61 * 60_000 }],
  ] as const)('(%s) let no day count as covered, and say so', async ([_, apart], { db, sandbox }) => {
    const run = { job, db, sandbox, ...clocks(apart) };

    for (const command of [runBackfill, runSync]) {
      const result = await command(run);
      expect(result.outcome).toBe('incomplete');
      expect(result.error).toBeInstanceOf(ClocksApart);
      expect((result.error as Error).message).toMatch(
        /The clocks are .* apart \(UTC\): this machine's shows 20/,
      );
      expect(result.windows).toMatchObject({ failed: 0, refused: 0 });
      expect(await coverageOf(db)).toEqual({});
    }
    expect((await heldBy(db, scope)).length).toBeGreaterThan(0);

    // With good clocks, the same days are asked for once more, and then covered.
    truth = new Date('2026-11-25T12:00:00Z');
    const later = { ...job, endDate: job.startDate.with({ day: 20 }) };
    expect(await runBackfill({ ...run, ...clocks({}), job: later })).toMatchObject({ outcome: 'done' });
    expect(await coverageOf(db)).toEqual({ 'US Inflation-Food COMBINED': '{[2026-11-01,2026-11-21)}' });
    expect(await heldBy(db, scope)).toEqual(servedBy(sandbox, scope));
  });

  it('are found out by the very first answer, as the service really sends it', async ({ db, sandbox }) => {
    const ahead = { clock: off(6 * day) };
    // The lookups are fresh: before its first page, the run has no answer to go by.
    await runBackfill({ job: aJobFor({ ...scope, countries: ['NO'] }, settings), db, sandbox, ...ahead });
    const result = await runBackfill({ job, db, sandbox, ...ahead, serviceClock: 'as answered' });
    expect(result).toMatchObject({ outcome: 'incomplete', error: expect.any(ClocksApart) });
    expect(Object.keys(await coverageOf(db))).toEqual(['NO Inflation-Food COMBINED']);
  });

  it('do not end as done where they leave nothing to load', async ({ db, sandbox }) => {
    const behind = { clock: off(-6 * 366 * day), serviceClock: 'as answered' } as const;
    // Its lists are fetched again, and their answer says the time.
    for (const command of [runBackfill, runSync])
      expect(await command({ job, db, sandbox, ...behind })).toMatchObject({
        outcome: 'incomplete',
        error: expect.any(ClocksApart),
      });
  });

  it('leave a window uncovered that they began, whoever ends it', async ({ db, sandbox }) => {
    const apart = clocks({ machine: 6 * day });
    await runBackfill({ job, db, sandbox, ...apart, ...stoppedAt(1) });
    truth = new Date('2026-11-25T12:00:00Z');
    const ended = { ...job, endDate: job.startDate.with({ day: 20 }) };
    const run = { job: ended, db, sandbox, ...clocks({}) };
    expect((await runBackfill(run)).totals.windows_drained).toBe(2);
    expect(await coverageOf(db)).toEqual({ 'US Inflation-Food COMBINED': '{[2026-11-01,2026-11-21)}' });
    expect(await heldBy(db, scope)).toEqual(servedBy(sandbox, scope));
  });

  it('mark no row of an unfinished day as backfilled, and retract no live row', async ({ db }) => {
    await using sandbox = await aSandbox({ clock: off(0), historicalDelayMinutes: 24 * 60 });
    const run = { job, db, sandbox };
    truth = new Date('2026-11-14T12:00:00Z');
    expect(await runBackfill({ ...run, ...clocks({}) })).toMatchObject({ outcome: 'done' });

    // The lookups are fresh: the sync is planned before the service has said what time it is.
    truth = new Date('2026-11-20T12:00:00Z');
    const ahead = clocks({ machine: 6 * day });
    for (let times = 0; times < 2; times++) await runSync({ ...run, ...ahead });
    const rows = await sqlIn(db)<Record<'historical' | 'backfilled' | 'live' | 'retracted', number>>`
      select count(*) filter (where published_at >= '2026-11-17' and window_id is not null) as historical,
             count(*) filter (where published_at >= '2026-11-17' and is_backfilled) as backfilled,
             count(*) filter (where window_id is null) as live,
             count(*) filter (where retracted_at is not null) as retracted from gmsi.headlines`;
    expect(rows[0]).toMatchObject({ backfilled: 0, retracted: 0 });
    expect(rows[0]!.historical).toBeGreaterThan(0);
    expect(rows[0]!.live).toBeGreaterThan(0);
  });

  it('end the command with 1, in words and as JSON', async () => {
    await using place = await aPlace({ clock: () => new Date(Date.now() - 6 * day) });
    const { folder, sandbox, warehouse } = place;
    const definition = { ...series, start_date: '2026-11-01', service: { rate: 'unlimited' } };
    const file = await folder.write('late.yaml', definition);
    const setting = { cwd: folder.path, env: accessTo(warehouse, sandbox) };
    const { code, stdout, stderr } = await gmsiHere(['backfill', file], setting);
    expect(code, stderr).toBe(1);
    expect(stdout).toContain('The clocks are 6 days apart (UTC): this machine');
    expect(stdout).toContain('loaded, but no day counts as covered');
    expect(stdout).toContain('No day was counted as covered.');
    expect(stderr).toContain('The clocks are 6 days apart');
    const second = await gmsiHere(['sync', file, '--json'], setting);
    expect(second.code).toBe(1);
    expect(JSON.parse(second.stdout).jobs).toMatchObject([
      { outcome: 'incomplete', error: expect.stringContaining('The clocks are 6 days apart') },
    ]);
    expect(await coverageOf(warehouse.db)).toEqual({});

    const doctor = await gmsiHere(['doctor'], setting);
    expect(doctor.code).toBe(2);
    expect(doctor.stdout).toMatch(/✗ service .*its clock is 5\d{5} s behind this machine's/);
  });
});

it('clocks less than an hour apart settle days by the earlier one', async () => {
  // Midnight has passed by one of the two.
  for (const late of ['machine', 'service'] as const) {
    truth = new Date('2026-11-21T00:20:00Z');
    await using warehouse = await aWarehouse();
    await using sandbox = await aSandbox({ clock: off(0), volume: 0.3 });
    const noLookback = aJobFor(scope, { ...settings, lookback: 'P0D' });
    const run = { job: noLookback, db: warehouse.db, sandbox };
    expect(await runBackfill({ ...run, ...clocks({ [late]: -30 * 60_000 }) })).toMatchObject({
      outcome: 'done',
    });
    expect(await coverageOf(warehouse.db)).toEqual({
      'US Inflation-Food COMBINED': '{[2026-11-01,2026-11-20)}',
    });
  }
});

it.for([
  ['the machine, by days', { machine: 6 * day }, 'apart'],
  ['the machine, behind', { machine: -6 * day }, 'apart'],
  ['the service, by a year', { service: 365 * day }, 'apart'],
  ['the machine, by 70 seconds', { machine: 70_000 }, 'warned'],
  ['the machine, by 50 seconds', { machine: 50_000 }, 'well'],
  ['the service, by no more than its answer was under way', { service: -2 * hour, late: 3 * hour }, 'well'],
  ['the service, by more', { service: -2 * hour, late: 1000 }, 'apart'],
] as const)('if the clock that is off is that of %s, the clocks are %s', ([_, apart, found]) => {
  const { clock: machine, serviceClock } = clocks(apart);
  const { log, lines } = aLog();
  const mayBeLaterMs = 'late' in apart ? apart.late : 0;
  const watched = watchClocks(machine, () => ({ date: serviceClock(), mayBeLaterMs }), log);
  for (let times = 0; times < 2; times++) watched.compare();
  expect(watched.apart !== undefined).toBe(found === 'apart');
  if (found !== 'apart') expect(lines).toHaveLength(found === 'warned' ? 1 : 0);
});

it('a service that sends no time does not count', async ({ db, sandbox }) => {
  const run = { job, db, sandbox, ...clocks({}), serviceClock: 'unknown' } as const;
  expect(await runBackfill(run)).toMatchObject({ outcome: 'done' });
  expect(await coverageOf(db)).toEqual({ 'US Inflation-Food COMBINED': '{[2026-11-01,2026-11-17)}' });
});
