import { describe, expect } from 'vitest';
import type { SandboxOptions } from '#sandbox';
import { changesIn, describeProbe } from '../../src/commands/doctor/doctor-report.ts';
import { withLearnedReading } from '../../src/load/resolve-load.ts';
import type { FactName, FactValue } from '../../src/probe/fact.ts';
import type { ProbeReport } from '../../src/probe/probe-service.ts';
import { saveLearnedFacts } from '../../src/warehouse/tables/learned.ts';
import { jumpingClock } from '../service/clocks.ts';
import { aLog } from '../support/a-log.ts';
import { aJob, aJobFor, runBackfill } from '../support/run-backfill.ts';
import { foundBy, runProbe } from '../support/run-probe.ts';
import { aSandbox, it } from '../support/serving.ts';
import { aWarehouse, type TestWarehouse } from '../support/test-warehouse.ts';
import { heldBy, servedBy } from '../support/truth.ts';
import { aWindowIn, countRows, requestsBooked } from '../support/warehouse-state.ts';
import { firstPages, watchRequests } from '../support/watch-requests.ts';

const now = Date.UTC(2026, 10, 20, 12);

async function aService(options: SandboxOptions = {}) {
  const clock = jumpingClock(now);
  const sandbox = await aSandbox({ clock: () => new Date(clock.now()), ...options });
  return { sandbox, clock, [Symbol.asyncDispose]: () => sandbox.stop() };
}

async function probed(options: SandboxOptions, warehouse: TestWarehouse, more = {}) {
  await using service = await aService(options);
  const report = await runProbe({ db: warehouse.db, ...service, ...more });
  expect(service.sandbox.stats().requests).toBe(report.requests);
  return { report, found: foundBy(report), stats: service.sandbox.stats() };
}

function evidenceFor({ lessons }: ProbeReport, fact: FactName): string {
  return lessons.find((lesson) => lesson.fact === fact)!.evidence;
}

async function storedIn({ db }: TestWarehouse): Promise<Record<string, FactValue>> {
  const rows = await db.selectFrom('gmsi.learned_facts').select(['fact', 'value']).execute();
  return Object.fromEntries(rows.map(({ fact, value }) => [fact, value as FactValue]));
}

const reach = (answered: string, refused: string | null) => ({
  history_limit: { answered, refused, asked_on: '2026-11-20' },
});

describe('a probe of a service', () => {
  const usual = {
    end_date: 'inclusive',
    day_begin: expect.anything(),
    time_rounding: 'second, some on the hour',
    ...reach('2016-11-19', null),
  };
  const cases: [string, SandboxOptions, object, object?][] = [
    ['as it is likely to be', {}, {}],
    ['whose end_date is exclusive', { endDate: 'exclusive' }, { end_date: 'exclusive' }],
    ['that ignores end_date', { endDate: 'ignored', order: 'oldest-first' }, { end_date: 'ignored' }],
    ['that reaches 100 days back', { historyLimitDays: 100 }, reach('2026-08-12', '2026-08-11')],
    ['that reaches 20 days back', { historyLimitDays: 20 }, reach('2026-10-31', '2026-10-30')],
    [
      'whose job asks for small pages',
      {},
      { day_begin: null },
      { job: aJob({ service: { page_size: 50 } }) },
    ],
    [
      'in New York, by whole hours',
      { timeZone: 'America/New_York', records: { hourShare: 1 } },
      { time_rounding: 'hour' },
    ],
  ];
  it.each(cases)('%s finds out that it is so', async (_, options, expected, more) => {
    await using warehouse = await aWarehouse();
    // So many headlines that the newest is minutes old.
    const { report, found } = await probed({ volume: 4, ...options }, warehouse, more);
    expect(found).toEqual({ ...usual, ...expected });
    expect(report.requests).toBeLessThanOrEqual(12);
    expect(await requestsBooked(warehouse.db)).toBe(report.requests);
    const learned = Object.entries(found).filter(([, value]) => value !== null);
    expect(await storedIn(warehouse)).toEqual(Object.fromEntries(learned));
  });
});

describe('a probe that meets trouble', () => {
  it('keeps what it has learned once it has sent 12 requests', async ({ warehouse }) => {
    let asked = 0;
    const script = [{ kind: 'server-error', times: 100, match: () => ++asked % 2 === 1 }] as const;
    const { report, found } = await probed({ historyLimitDays: 100, faults: { script } }, warehouse);
    expect(report.requests).toBe(12);
    expect(await requestsBooked(warehouse.db)).toBe(12);
    expect(found).toMatchObject({ end_date: 'inclusive', history_limit: null });
    expect(evidenceFor(report, 'history_limit')).toBe(
      'This run has reached its request limit: 12 of 12 sent.',
    );
  });

  it('says why if nothing is answered, and leaves what was learned before', async ({ warehouse, db }) => {
    await probed({}, warehouse);
    await using service = await aService();
    const refuse = { kind: 'refuse', status: 400, detail: 'closed today', times: 100 } as const;
    service.sandbox.script([refuse]);
    const report = await runProbe({ db, ...service });
    expect(report.lessons.every(({ standing }) => standing === 'not learned')).toBe(true);
    expect(evidenceFor(report, 'end_date')).toBe('refused with 400: closed today');
    expect((await storedIn(warehouse)).end_date).toBe('inclusive');
    expect(describeProbe(report)).toContain('inclusive (stays)');
  });

  it('tries a second series if the first has no news, or says so', async ({ warehouse }) => {
    const { report, found } = await probed({ volume: 0 }, warehouse);
    expect(new Set(Object.values(found))).toEqual(new Set([null]));
    expect(evidenceFor(report, 'end_date')).toContain('no readable records');
    expect(report.requests).toBe(4);
    expect(await storedIn(warehouse)).toEqual({});
  });

  it('sends nothing once the budget is spent', async ({ warehouse, db }) => {
    await using service = await aService();
    await probed({}, warehouse);
    await db.updateTable('gmsi.api_usage').set({ requests: 250_000 }).execute();
    await expect(runProbe({ db, ...service })).rejects.toMatchObject({ kind: 'budget' });
    expect(service.sandbox.stats().requests).toBe(0);
  });
});

describe('what is probed', () => {
  it("is the job's feed, with its series and its settings", async ({ warehouse, db }) => {
    const feed = { feed: 'ticker-headlines', countries: undefined, topics: undefined, tickers: ['BTC_CRY'] };
    const { report, found } = await probed({ endDate: 'exclusive' }, warehouse, { job: aJob(feed) });
    expect(report.series).toMatchObject({ ticker: 'BTC_CRY' });
    expect(found).toMatchObject({
      end_date: 'exclusive',
      history_limit: { answered: '2026-08-22', refused: '2026-08-21' },
    });
    const rows = await db.selectFrom('gmsi.learned_facts').select('feed').distinct().execute();
    expect(rows).toEqual([{ feed: 'ticker-headlines' }]);
  });

  it('is the busiest series that the warehouse has loaded', async ({ warehouse, db }) => {
    await probed({}, warehouse);
    const days = ['2026-10-01', '2026-10-02'] as const;
    await aWindowIn(db, ...days, { country: 'NO', topic: 'Elections', records: 50 });
    await aWindowIn(db, ...days, { country: 'DE', topic: 'Market Stress', records: 70 });
    const { report } = await probed({}, warehouse);
    expect(report.series).toMatchObject({ country: 'DE', topic: 'Market Stress' });
  });
});

describe('a later probe', () => {
  it('confirms what it finds again', async ({ warehouse }) => {
    await probed({ historyLimitDays: 500 }, warehouse);
    const { report } = await probed({ historyLimitDays: 500 }, warehouse);
    const standings = new Set(report.lessons.map(({ standing }) => standing));
    expect([...standings].filter((standing) => standing !== 'not learned')).toEqual(['confirmed']);
  });

  it('that differs says what changed, and leaves it until the change is accepted', async ({ warehouse }) => {
    await probed({}, warehouse);
    const before = await storedIn(warehouse);
    const other: SandboxOptions = { endDate: 'exclusive', timeZone: 'Asia/Tokyo', historyLimitDays: 300 };
    const { report } = await probed(other, warehouse);
    const changed = report.lessons.filter(({ standing }) => standing === 'changed');
    expect(changed.map(({ fact }) => fact)).toEqual(['end_date', 'history_limit']);
    const [ofEndDate] = changesIn(report, undefined);
    const found = expect.stringMatching(/^end_date, from "inclusive" \(learned [\d-]+\) to "exclusive"$/);
    expect(ofEndDate).toMatchObject({ check: 'changed', ok: false, found });
    expect(ofEndDate!.fix).toMatch(/: gmsi doctor --probe --accept-changes\. .* --full-refresh$/);
    expect(changesIn(report, 'my job')[0]!.fix).toContain('--accept-changes --job "my job"');
    expect(await storedIn(warehouse)).toEqual(before);

    const accepted = await probed(other, warehouse, { acceptsChanges: true });
    const [replaced] = changesIn(accepted.report, undefined);
    expect(replaced).toMatchObject({ check: 'replaced', ok: true, found });
    expect(replaced!.fix).toMatch(/^Windows .* --full-refresh$/);
    const { history_limit } = accepted.found;
    expect(history_limit).not.toEqual(before.history_limit);
    expect(await storedIn(warehouse)).toMatchObject({ end_date: 'exclusive', history_limit });
    const again = await probed(other, warehouse);
    expect(changesIn(again.report, undefined)).toEqual([]);
  });
});
const period = { from: '2026-01-01', to: '2026-06-30' };
const one = { ...period, countries: ['US'], topics: ['Inflation-Food'] };

it.for(['inclusive', 'exclusive'] as const)(
  'a job requests no overlap once a probe found end_date %s',
  async (endDate, { db }) => {
    const clock = jumpingClock(now);
    await using sandbox = await aSandbox({ volume: 0.2, endDate, clock: () => new Date(clock.now()) });
    await runProbe({ db, sandbox, clock });
    const requests = watchRequests(sandbox);
    const job = aJobFor(one, { order: 'oldest-first', service: { concurrency: 1 } });
    expect(job.service.endDate).toBe('unknown');
    expect((await runBackfill({ job, db, sandbox })).outcome).toBe('done');
    const asked = firstPages(requests).map(({ query }) => `${query.start_date} ${query.end_date}`);
    expect(asked).toEqual(
      endDate === 'inclusive'
        ? ['2026-01-01 2026-03-31', '2026-04-01 2026-06-29', '2026-06-30 2026-06-30']
        : ['2026-01-01 2026-04-01', '2026-04-01 2026-06-30', '2026-06-30 2026-07-01'],
    );
    const served = servedBy(sandbox, one);
    expect(await heldBy(db, one)).toEqual(served);
    expect(await countRows(db, 'headlines')).toBe(served.length);

    const own = endDate === 'inclusive' ? 'exclusive' : 'inclusive';
    const other = { ...one, countries: ['NO'], to: '2026-01-31' };
    requests.length = 0;
    const { log, lines } = aLog();
    await runBackfill({ job: aJobFor(other, { service: { end_date: own } }), db, sandbox, log });
    expect(firstPages(requests)[0]!.query.end_date).toBe(own === 'inclusive' ? '2026-01-31' : '2026-02-01');
    const warnings = lines.filter(({ level }) => level === 40).map(({ msg }) => msg);
    expect(warnings).toContainEqual(expect.stringContaining(`a probe found that it is ${endDate}`));

    const same = aJobFor(one, { service: { end_date: endDate } });
    expect(await withLearnedReading(db, same)).toEqual({
      job: same,
      endDate: { reading: endDate, by: 'job', contradicted: null },
    });
  },
);

it('what was learned of one feed says nothing of another', async ({ db }) => {
  const fact = { feed: 'ticker-headlines', fact: 'end_date', value: '"inclusive"', evidence: 'a test' };
  await db.insertInto('gmsi.learned_facts').values(fact).execute();
  const { job, endDate } = await withLearnedReading(db, aJobFor(one));
  expect(job.service.endDate).toBe('unknown');
  expect(endDate).toEqual({ reading: 'unknown', by: 'nobody', contradicted: null });
});

it.for<
  [
    what: string,
    answered: string,
    refused: string | null,
    job: Record<string, unknown>,
    limit: string | undefined,
  ]
>([
  ['the day after the last that was refused', '2025-01-01', '2020-02-28', {}, '2020-02-29 probe'],
  ['none if nothing was refused', '2016-11-22', null, {}, undefined],
  ['none if an older day was answered than one refused', '2020-01-01', '2021-01-01', {}, undefined],
  ['what the job says', '2025-01-01', '2024-12-31', { history_limit: '2010-01-01' }, '2010-01-01 job'],
])('the history limit that a probe has learned is %s', async ([_, answered, refused, job, limit], { db }) => {
  const learned = { fact: 'history_limit', value: { answered, refused, asked_on: '2025-06-01' } };
  await saveLearnedFacts(db, 'gmsi-headlines', [{ ...learned, evidence: 'a test' }]);
  const { historyLimit } = (await withLearnedReading(db, aJobFor(one, job))).job;
  expect(historyLimit && `${historyLimit.reach} ${historyLimit.by}`).toBe(limit);
});
