import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { catalog } from '../../src/feeds/catalog.ts';
import { type FeedName, type Sandbox, startSandbox } from '../../src/sandbox/index.ts';
import type { Warehouse } from '../../src/warehouse/connect.ts';
import { expectNothingLost, lostRows } from '../support/lost-rows.ts';
import { aRewritingProxy } from '../support/rewriting-proxy.ts';
import { aJob, runBackfill, runSync } from '../support/run-backfill.ts';
import { aWarehouse } from '../support/test-warehouse.ts';

const clock = () => new Date('2026-11-20T12:00:00Z');
const tickers = ['BTC_CRY', 'BZ_COM'];

type Days = { readonly from: string; readonly to: string };

interface Case {
  readonly feed: string;
  readonly job: Record<string, unknown>;
  readonly table: string;
  readonly time: string;
  /** What the sandbox is asked for the truth. */
  readonly truth: readonly (readonly [FeedName, Record<string, string>])[];
  /** Columns of the table beside the fields of a record that they were read from. */
  readonly columns: Readonly<Record<string, string>>;
}

const ofTickers = (feed: FeedName) => tickers.map((ticker) => [feed, { ticker }] as const);
const nordic = { model: 'macro_1', country_preset: 'norway' };
const components = {
  sentiment_sum: 'sentiment_sum',
  sentiment_abs_sum: 'sentiment_abs_sum',
  sentiment_std: 'sentiment_std',
};

const cases: readonly Case[] = [
  {
    feed: 'ticker-headlines',
    job: { tickers },
    table: 'ticker_headlines',
    time: 'published_at',
    truth: ofTickers('ticker-headlines'),
    columns: {
      ticker: 'ticker',
      headline: 'headline',
      topic: 'topic_name',
      bearish_probability: 'bearish_probability',
    },
  },
  {
    feed: 'ticker-events',
    job: { tickers },
    table: 'ticker_events',
    time: 'event_at',
    truth: ofTickers('events'),
    columns: { event_name: 'event_name', direction: 'direction', impact: 'impact', summary: 'summary' },
  },
  {
    feed: 'ticker-event-headlines',
    job: { tickers },
    table: 'ticker_event_headlines',
    time: 'published_at',
    truth: ofTickers('event-headlines'),
    columns: { headline: 'headline', event_name: 'event_name', event_id: 'event_id' },
  },
  {
    feed: 'ticker-index',
    job: { tickers },
    table: 'ticker_index',
    time: 'published_at',
    truth: ofTickers('ticker-index'),
    columns: { topic: 'topic_name', headline_count: 'headline_count', ...components },
  },
  {
    feed: 'gmsi-index',
    job: { countries: ['US', 'NO'], topics: ['Inflation-Food'] },
    table: 'gmsi_index',
    time: 'published_at',
    truth: ['US', 'NO'].flatMap((country) =>
      ['directional', 'semantic_sentiment'].map(
        (sentiment_type) => ['gmsi-index', { country, topic: 'Inflation-Food', sentiment_type }] as const,
      ),
    ),
    columns: { topic_name: 'topic_name', headline_count: 'headline_count', ...components },
  },
  {
    feed: 'regional-index',
    job: { parameters: nordic },
    table: 'regional_index',
    time: 'published_at',
    truth: [['regional-index', nordic]],
    columns: {
      ...{ country: 'country', topic: 'topic_name', headline_count: 'headline_count' },
      ...{ sentiment_avg: 'sentiment_avg', sentiment_sum: 'sentiment_sum', sentiment_std: 'sentiment_std' },
    },
  },
  {
    feed: 'ticker-event-metrics',
    job: { tickers },
    table: 'ticker_event_metrics',
    time: 'published_at',
    truth: ofTickers('event-metrics'),
    columns: { event_type: 'event_type', event_count: 'event_count', ...components },
  },
  {
    feed: 'event-metrics-query',
    job: { body: { tickers, event_types: ['Realised', 'Anticipated'] } },
    table: 'event_query_metrics',
    time: 'published_at',
    truth: [['event-metrics-query', { tickers: tickers.join(','), event_types: 'Realised,Anticipated' }]],
    columns: { ticker: 'ticker', event_type: 'event_type', event_count: 'event_count', ...components },
  },
];

/** The rows of a feed's table for some days, in a form to compare. */
async function heldIn(
  db: Warehouse,
  { table, time, columns }: Pick<Case, 'table' | 'time' | 'columns'>,
  of: Days,
): Promise<string[]> {
  const names = Object.keys(columns);
  const { rows } = await sql<Record<string, unknown>>`
    select ${sql.ref(time)} as "at", ${sql.join(names.map((column) => sql.ref(column)))}
    from ${sql.table(`gmsi.${table}`)}
    where (${sql.ref(time)} at time zone 'UTC')::date between ${of.from}::date and ${of.to}::date
      and retracted_at is null
  `.execute(db);
  return rows
    .map((row) => JSON.stringify([(row.at as Date).toISOString(), ...names.map((name) => row[name])]))
    .sort();
}

/** What the sandbox serves for the same days, in the same form. */
function servedFor(
  sandbox: Sandbox,
  { truth, columns }: Pick<Case, 'truth' | 'columns'>,
  of: Days,
): string[] {
  const served = truth.flatMap(([name, query]) => sandbox.truthOf(name, { ...query, ...of }));
  return served
    .map(({ publishedAt, wire }) =>
      JSON.stringify([
        new Date(publishedAt).toISOString(),
        ...Object.values(columns).map((field) => wire[field] ?? null),
      ]),
    )
    .sort();
}

const isLive = ({ feed }: Case) => catalog.get(feed)!.live !== undefined;

describe.each(cases.filter(isLive))('the live twin of feed $feed', ({ feed, job: keys, ...one }) => {
  it('is read by a sync, and what both bring is one row', async () => {
    await using warehouse = await aWarehouse();
    const { db } = warehouse;
    await using sandbox = await startSandbox({
      limits: null,
      clock,
      tickerHistoryLimitDays: null,
      volume: 1,
    });
    const since = { from: '2026-11-18', to: '2026-11-20' };
    const none = { countries: undefined, topics: undefined };
    const job = aJob({ feed, ...none, ...keys, start_date: since.from, end_date: 'today' });

    expect(await runBackfill({ job, db, sandbox, clock })).toMatchObject({ outcome: 'done' });
    const synced = await runSync({ job, db, sandbox, clock });
    expect(synced).toMatchObject({
      outcome: 'done',
      live: { series: one.truth.length, failed: 0, cutOff: 0 },
    });
    expect(synced.live.records).toBeGreaterThan(0);
    expect(synced.totals).toMatchObject({ rows_inserted: 0, rows_changed: 0 });
    expect(await heldIn(db, one, since)).toEqual(servedFor(sandbox, one, since));
    await expectNothingLost(db);
  });
});

describe.each(cases)('feed $feed', ({ feed, job: keys, table, time, truth, columns }) => {
  it('is loaded exactly as the service has it, kept covered, and has what the service no longer returns retracted', async () => {
    await using warehouse = await aWarehouse();
    const { db } = warehouse;
    let now: string;
    const moving = () => new Date(now);
    await using sandbox = await startSandbox({
      ...{ limits: null, clock: moving, tickerHistoryLimitDays: null },
      changes: { withdrawn: 0.3 },
    });
    const of = { from: '2026-10-01', to: '2026-10-05' };
    const none = { countries: undefined, topics: undefined };
    const job = aJob({ feed, ...none, ...keys, start_date: of.from, end_date: of.to, step: 'P3D' });
    const loadAt = async (instant: string) => {
      now = instant;
      const plan = { fullRefresh: true, retryRefused: false };
      const result = await runBackfill({ job, db, sandbox, clock: moving, plan });
      expect(result).toMatchObject({ outcome: 'done', totals: { records_rejected: 0 } });
      const held = await heldIn(db, { table, time, columns }, of);
      expect(held).toEqual(servedFor(sandbox, { truth, columns }, of));
      await expectNothingLost(db);
      return result.totals;
    };

    expect((await loadAt('2026-10-11T00:00:00Z')).rows_inserted).toBeGreaterThan(0);
    await loadAt('2026-11-20T00:00:00Z');
    const before = sandbox.stats().requests;
    expect(await runBackfill({ job, db, sandbox, clock: moving })).toMatchObject({
      outcome: 'done',
      loadId: undefined,
    });
    expect(sandbox.stats().requests).toBe(before);

    // Then the service returns it all again.
    await loadAt('2026-10-11T00:00:00Z');
    const { rows: reasons } = await sql<{ reason: string }>`
      select distinct reason from gmsi.revisions order by 1`.execute(db);
    expect(reasons.map(({ reason }) => reason)).toEqual(expect.arrayContaining(['retracted', 'returned']));

    // One row of the table that is deleted is noticed in every feed. Not of the day after, which is asked for, too, but not
    // covered.
    const day = sql`(${sql.ref(time)} at time zone 'UTC')::date`;
    const { rows } = await sql<{ day: string }>`
      delete from ${sql.table(`gmsi.${table}`)} where (tableoid, ctid) in (
        select tableoid, ctid from ${sql.table(`gmsi.${table}`)} where ${day} <= ${of.to}::date limit 1)
      returning ${day}::text as day`.execute(db);
    expect(await lostRows(db)).toMatchObject(rows.map(({ day }) => ({ first_day: day, last_day: day })));
    expect(rows).toHaveLength(1);
  });
});

it('a headline of an asset that is sent under several topics has a row for each, and none of them flips', async () => {
  await using warehouse = await aWarehouse();
  await using sandbox = await startSandbox({ limits: null, clock });
  const topics = ['Regulation', 'Adoption', null];
  await using proxy = await aRewritingProxy(sandbox, ({ data, ...page }) => ({
    ...page,
    data: data.flatMap((record) => topics.map((topic_name) => ({ ...record, topic_name }))),
  }));
  const job = aJob({
    ...{ feed: 'ticker-headlines', countries: undefined, topics: undefined, tickers: ['BZ_COM'] },
    ...{ start_date: '2026-11-10', end_date: '2026-11-12' },
  });
  const run = {
    job,
    db: warehouse.db,
    sandbox: proxy,
    clock,
    plan: { fullRefresh: true, retryRefused: false },
  };
  expect(await runBackfill(run)).toMatchObject({ outcome: 'done', totals: { rows_changed: 0 } });
  const { rows } = await sql<{ all: number; headlines: number }>`
    select count(*)::int as all, count(distinct headline_id)::int as headlines from gmsi.ticker_headlines`.execute(
    warehouse.db,
  );
  expect(rows[0]!.headlines).toBeGreaterThan(10);
  expect(rows[0]!.all).toBe(rows[0]!.headlines * topics.length);
  expect(await runBackfill(run)).toMatchObject({
    outcome: 'done',
    totals: { rows_inserted: 0, rows_changed: 0, rows_retracted: 0 },
  });
});

it('a job asks for presets, one value or a list, and each combination is a series of its own', async () => {
  await using warehouse = await aWarehouse();
  await using sandbox = await startSandbox({ limits: null, clock });
  const of = { from: '2026-11-10', to: '2026-11-12' };
  const job = aJob({
    ...{ feed: 'ticker-headlines', countries: undefined, topics: undefined, tickers: ['BZ_COM'] },
    ...{ start_date: of.from, end_date: of.to },
    parameters: { language_preset: ['en', 'de,fr'], topic_preset: 'Supply,Price Action' },
  });
  expect(await runBackfill({ job, db: warehouse.db, sandbox, clock })).toMatchObject({ outcome: 'done' });
  const { rows } = await sql<{ variant: string; ids: string[] }>`
    select variant, array_agg(headline_id::text order by headline_id) as ids from gmsi.ticker_headlines
    where (published_at at time zone 'UTC')::date between ${of.from}::date and ${of.to}::date
    group by 1 order by 1`.execute(warehouse.db);
  expect(rows).toEqual(
    ['language_preset=de%2Cfr', 'language_preset=en'].map((language) => {
      const variant = `${language}&topic_preset=Supply%2CPrice+Action`;
      const asked = { ticker: 'BZ_COM', ...Object.fromEntries(new URLSearchParams(variant)), ...of };
      const ids = sandbox.truthOf('ticker-headlines', asked).map(({ wire }) => String(wire.id));
      expect(ids.length).toBeGreaterThan(1);
      return { variant, ids: ids.sort() };
    }),
  );
});

describe.each([
  { feed: 'gmsi-index', table: 'gmsi_index', selections: { countries: ['US'], topics: ['Inflation-Food'] } },
  { feed: 'regional-index', table: 'regional_index', selections: {}, parameters: nordic },
])('hours of $feed', ({ feed, table, selections, parameters }) => {
  it('say how they are stamped; one stamped at its end on a day that is drained again alone is not retracted', async () => {
    await using warehouse = await aWarehouse();
    const { db } = warehouse;
    await using sandbox = await startSandbox({
      limits: null,
      clock,
      tickerHistoryLimitDays: null,
    });
    const asked: Record<string, string>[] = [];
    const match = ({ path, query }: { path: string; query: Readonly<Record<string, string>> }) => {
      if (path.includes('/index/')) asked.push(query);
      return false;
    };
    sandbox.script([{ kind: 'latency', match }]);
    const of = {
      feed,
      countries: undefined,
      topics: undefined,
      ...selections,
      service: { end_date: 'inclusive' },
    };
    const load = async (days: object, align: object) => {
      const job = aJob({ ...of, ...days, parameters: { ...parameters, sparse: false, ...align } });
      return runBackfill({ job, db, sandbox, clock, plan: { fullRefresh: true, retryRefused: false } });
    };
    const days = { start_date: '2026-10-01', end_date: '2026-10-04' };
    for (const align of [{}, { align_to_period_end: false }, { align_to_period_end: true }])
      expect(await load(days, align)).toMatchObject({ outcome: 'done' });
    expect(new Set(asked.map(({ align_to_period_end: sent }) => sent))).toEqual(
      new Set([undefined, 'false', 'true']),
    );
    // The model is in the path.
    expect(asked.filter((query) => 'model' in query || query.sparse !== 'false')).toEqual([]);

    const { rows } = await sql`
      select hour_stamp, count(*)::int as hours, min(hour_ends_at) = min(published_at) as is_end,
             bool_and(extract(epoch from hour_ends_at - published_at) = case hour_stamp when 'end' then 0 else 3600 end) as ends,
             min(hour_ends_at) as first, max(hour_ends_at) as last
      from ${sql.table(`gmsi.${table}`)} group by 1 order by 1`.execute(db);
    const one = rows[0] as { hours: number; first: Date; last: Date };
    expect(one.hours).toBeGreaterThan(50);
    expect(rows).toEqual([
      { ...one, hour_stamp: 'beginning', is_end: false, ends: true },
      { ...one, hour_stamp: 'end', is_end: true, ends: true },
      { ...one, hour_stamp: 'unknown', is_end: false, ends: true },
    ]);
    expect(one.last.toISOString()).toBe('2026-10-05T00:00:00.000Z');

    const { rows: midnight } = await sql<{ hours: number }>`
      select count(*)::int as hours from ${sql.table(`gmsi.${table}`)}
      where hour_stamp = 'end' and published_at = '2026-10-03 00:00+00'`.execute(db);
    expect(midnight[0]!.hours).toBeGreaterThan(0);
    const again = await load({ ...days, start_date: '2026-10-03' }, { align_to_period_end: true });
    expect(again.totals).toMatchObject({ rows_inserted: 0, rows_changed: 0, rows_retracted: 0 });
  });
});
