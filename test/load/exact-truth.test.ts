import { type RawBuilder, sql } from 'kysely';
import { describe, expect } from 'vitest';
import type { Sandbox, SandboxOptions } from '#sandbox';
import { catalog, type FeedName } from '../../src/feeds/catalog.ts';
import type { Feed } from '../../src/feeds/feed.ts';
import type { Warehouse } from '../../src/warehouse/connect.ts';
import { aJobOf, type FeedCase, feedCases } from '../feeds/cases.ts';
import { expectNothingLost, lostRows } from '../support/lost-rows.ts';
import { aJob, aJobFor, refresh, runBackfill, runSync } from '../support/run-backfill.ts';
import { aSandbox, it, serving } from '../support/serving.ts';
import { aWarehouse } from '../support/test-warehouse.ts';
import { heldBy, servedBy, type TruthScope } from '../support/truth.ts';
import { sqlIn } from '../support/warehouse-state.ts';

/** Two months that meet, so that windows end within them. */
const scope: TruthScope = {
  countries: ['US', 'DE'],
  topics: ['Governance/Corruption'],
  from: '2026-08-25',
  to: '2026-09-13',
};

/** What a service may be like, each with a reading of `end_date`, an order and pages of its own. */
const services: Record<string, [SandboxOptions, job?: Record<string, unknown>]> = {
  'ids and texts': [{ order: 'oldest-first', volume: 0.03 }, { service: { page_size: 1 } }],
  'ids but no texts': [{ records: { texts: false }, order: 'newest-first' }, { service: { page_size: 7 } }],
  'texts but no ids': [{ records: { ids: false }, endDate: 'exclusive' }, { step: 'P9D' }],
  'neither ids nor texts': [
    { records: { ids: false, texts: false }, endDate: 'exclusive' },
    { step: 'P9D', service: { end_date: 'exclusive' } },
  ],
  'nested scores sent as strings': [
    { records: { scores: 'nested', numbers: 'string' } },
    { step: 'P9D', service: { end_date: 'exclusive' } },
  ],
  'times with another zone': [{ records: { times: 'offset' }, order: 'oldest-first', volume: 0.3 }],
  'every time rounded to the hour, without ids': [{ records: { hourShare: 1, ids: false } }],
  'many scores missing': [{ records: { missingScores: 0.4 } }],
};

describe('what is held after a backfill is exactly what is served', () => {
  it.each(Object.entries(services))('for records with %s', async (_, [options, ofJob]) => {
    await holdsTheTruth({ volume: 0.1, ...options }, ofJob);
  });

  it.for([[true], [false]] as const)(
    'for headlines of several series: a row for each, one id (sent: %s)',
    async ([ids], { db }) => {
      const world = {
        countries: ['DE', 'FR'],
        topics: ['Inflation-Food', 'Inflation-Energy'],
        from: '2026-09-21',
        to: '2026-09-30',
      };
      await using sandbox = await aSandbox({ volume: 0.5, records: { ids } });
      await runBackfill({ job: aJobFor(world), db, sandbox });
      const truth = world.countries.flatMap((country) =>
        world.topics.flatMap((topic) => sandbox.truth({ ...world, country, topic })),
      );
      const distinct = new Set(truth.map(({ url }) => url)).size;
      expect(distinct).toBeLessThan(truth.length);
      const counted = sql<Record<string, number>>`
        select count(*)::int as rows, count(distinct headline_id)::int as headlines,
               count(distinct (published_at, headline, source, language))::int as texts
        from gmsi.headlines where published_at < '2026-10-01 00:00+00'`.execute(db);
      expect((await counted).rows).toEqual([{ rows: truth.length, headlines: distinct, texts: distinct }]);
    },
  );
});

async function holdsTheTruth(options: SandboxOptions, overrides: Record<string, unknown> = {}) {
  await using warehouse = await aWarehouse();
  await using sandbox = await aSandbox({ ...options });
  const job = aJobFor(scope, { step: 'P12D', ...overrides });
  const result = await runBackfill({ job, db: warehouse.db, sandbox });
  const truth = { ...scope, ids: options.records?.ids ?? true };
  const served = servedBy(sandbox, truth);
  expect(served.length).toBeGreaterThan(10);
  expect(await heldBy(warehouse.db, truth)).toEqual(served);
  await expectNothingLost(warehouse.db);
  expect(result).toMatchObject({ outcome: 'done', totals: { records_rejected: 0, rows_changed: 0 } });
}

describe('every feed', () => {
  type Days = { readonly from: string; readonly to: string };

  const feeds = [...catalog.values()].map((feed) => ({ feed, name: feed.name, ...feedCases[feed.name] }));

  /** The rows of a feed's table for some days, in a form to compare. */
  async function heldIn(
    db: Warehouse,
    { feed: { table }, columns }: { readonly feed: Feed } & Pick<FeedCase, 'columns'>,
    of: Days,
  ): Promise<string[]> {
    const [time] = table.key;
    const names = Object.keys(columns);
    const rows = await sqlIn(db)<Record<string, unknown>>`
    select ${sql.ref(time)} as "at", ${sql.join(names.map((column) => sql.ref(column)))}
    from ${sql.table(`gmsi.${table.name}`)}
    where (${sql.ref(time)} at time zone 'UTC')::date between ${of.from}::date and ${of.to}::date
      and retracted_at is null
  `;
    return rows
      .map((row) => JSON.stringify([(row.at as Date).toISOString(), ...names.map((name) => row[name])]))
      .sort();
  }

  /** What the sandbox serves for the same days, in the same form. */
  function servedFor(
    sandbox: Sandbox,
    { name, series, columns }: { readonly name: FeedName } & Pick<FeedCase, 'series' | 'columns'>,
    of: Days,
  ): string[] {
    const served = series.flatMap((query) => sandbox.truthOf(name, { ...query, ...of }));
    return served
      .map(({ publishedAt, wire }) =>
        JSON.stringify([
          new Date(publishedAt).toISOString(),
          ...Object.values(columns).map((field) => wire[field] ?? null),
        ]),
      )
      .sort();
  }

  /** All of a table's columns, to the last digit. */
  async function rowsOf(db: Warehouse, source: RawBuilder<unknown>): Promise<unknown[]> {
    return await sqlIn(db)`select t::text as row from ${source} as t order by 1`;
  }

  const it = serving({});

  describe.each(feeds.filter(({ feed }) => feed.live))('the live twin of feed $name', (one) => {
    it('is read by a sync, and what both bring is one row', async ({ db }) => {
      await using sandbox = await aSandbox({ tickerHistoryLimitDays: null, volume: 0.5 });
      const since = { from: '2026-11-18', to: '2026-11-20' };
      const job = aJobOf(one.name, { start_date: since.from, end_date: 'today' });

      expect(await runBackfill({ job, db, sandbox })).toMatchObject({ outcome: 'done' });
      const synced = await runSync({ job, db, sandbox });
      expect(synced).toMatchObject({ outcome: 'done', live: { series: one.series.length, failed: 0 } });
      expect(synced.live.records).toBeGreaterThan(0);
      expect(synced.totals).toMatchObject({ rows_inserted: 0, rows_changed: 0 });
      expect(await heldIn(db, one, since)).toEqual(servedFor(sandbox, one, since));
      await expectNothingLost(db);
    });
  });

  describe.each(feeds)('feed $name', (one) => {
    it('is loaded exactly, stays covered, retracts, and can be asked for as it was', async ({ db }) => {
      let now: string;
      const moving = () => new Date(now);
      await using sandbox = await aSandbox({
        clock: moving,
        tickerHistoryLimitDays: null,
        volume: 0.6,
        changes: { withdrawn: 0.3 },
      });
      const of = { from: '2026-10-01', to: '2026-10-05' };
      const job = aJobOf(one.name, { start_date: of.from, end_date: of.to, step: 'P3D' });
      const table = sql.table(`gmsi.${one.feed.table.name}`);
      const states: { readonly at: string; readonly rows: unknown[] }[] = [];
      const loadAt = async (instant: string) => {
        now = instant;
        const result = await runBackfill({
          job,
          db,
          sandbox,
          clock: moving,
          plan: refresh,
          acceptRetractions: true,
        });
        expect(result).toMatchObject({ outcome: 'done', totals: { records_rejected: 0 } });
        expect(await heldIn(db, one, of)).toEqual(servedFor(sandbox, one, of));
        await expectNothingLost(db);
        const rows = await sqlIn(db)<{ at: string }>`select clock_timestamp()::text as at`;
        states.push({ ...rows[0]!, rows: await rowsOf(db, table) });
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
      const reasons = await sqlIn(db)<{ reason: string }>`
      select reason from gmsi.revisions where table_name = ${one.feed.table.name}
      union select reason from gmsi.headline_revisions`;
      expect(reasons.map(({ reason }) => reason)).toEqual(expect.arrayContaining(['retracted', 'returned']));
      const asOf = sql.table(`gmsi.${one.feed.table.name}_as_of`);
      for (const { at, rows } of states)
        expect(await rowsOf(db, sql`${asOf}(${at}::timestamptz)`)).toEqual(rows);

      // One row of the table that is deleted is noticed in every feed. Not of the day after, which is asked for, too, but not
      // covered.
      const day = sql`(${sql.ref(one.feed.table.key[0])} at time zone 'UTC')::date`;
      const rows = await sqlIn(db)<{ day: string }>`
      delete from ${table} where (tableoid, ctid) in (
        select tableoid, ctid from ${table} where ${day} <= ${of.to}::date limit 1)
      returning ${day}::text as day`;
      expect(await lostRows(db)).toMatchObject(rows.map(({ day }) => ({ first_day: day, last_day: day })));
      expect(rows).toHaveLength(1);
    });
  });

  it("each combination of a job's presets is a series of its own", async ({ db, sandbox }) => {
    const of = { from: '2026-11-10', to: '2026-11-12' };
    const job = aJob({
      feed: 'ticker-headlines',
      countries: undefined,
      topics: undefined,
      tickers: ['BZ_COM'],
      start_date: of.from,
      end_date: of.to,
      parameters: { language_preset: ['en', 'de,fr'], topic_preset: 'Supply,Price Action' },
    });
    expect(await runBackfill({ job, db, sandbox })).toMatchObject({ outcome: 'done' });
    const rows = await sqlIn(db)<{ variant: string; ids: string[] }>`
    select variant, array_agg(headline_id::text order by headline_id) as ids from gmsi.ticker_headlines
    where (published_at at time zone 'UTC')::date between ${of.from}::date and ${of.to}::date
    group by 1 order by 1`;
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

  describe.each(feeds.filter(({ feed }) => 'align_to_period_end' in feed.variants))(
    'hours of $name',
    (one) => {
      it('say how they are stamped; one stamped at its end is not retracted', async ({ db }) => {
        await using sandbox = await aSandbox({ tickerHistoryLimitDays: null });
        const table = sql.table(`gmsi.${one.feed.table.name}`);
        const asked: Record<string, string>[] = [];
        const match = ({ path, query }: { path: string; query: Readonly<Record<string, string>> }) => {
          if (path.includes('/index/')) asked.push(query);
          return false;
        };
        sandbox.script([{ kind: 'latency', match }]);
        const load = async (days: object, align: object) => {
          const parameters = { ...(one.job.parameters as object | undefined), sparse: false, ...align };
          const job = aJobOf(one.name, { ...days, parameters, service: { end_date: 'inclusive' } });
          return runBackfill({ job, db, sandbox, plan: refresh });
        };
        const days = { start_date: '2026-10-01', end_date: '2026-10-04' };
        for (const align of [{}, { align_to_period_end: false }, { align_to_period_end: true }])
          expect(await load(days, align)).toMatchObject({ outcome: 'done' });
        expect(new Set(asked.map(({ align_to_period_end: sent }) => sent))).toEqual(
          new Set([undefined, 'false', 'true']),
        );
        // The model is in the path.
        expect(asked.filter((query) => 'model' in query || query.sparse !== 'false')).toEqual([]);

        const rows = await sqlIn(db)`
      select hour_stamp, count(*)::int as hours, min(hour_ends_at) = min(published_at) as is_end,
             bool_and(extract(epoch from hour_ends_at - published_at) = case hour_stamp when 'end' then 0 else 3600 end) as ends,
             min(hour_ends_at) as first, max(hour_ends_at) as last
      from ${table} group by 1 order by 1`;
        const first = rows[0] as { hours: number; first: Date; last: Date };
        expect(first.hours).toBeGreaterThan(50);
        expect(rows).toEqual([
          { ...first, hour_stamp: 'beginning', is_end: false, ends: true },
          { ...first, hour_stamp: 'end', is_end: true, ends: true },
          { ...first, hour_stamp: 'unknown', is_end: false, ends: true },
        ]);
        expect(first.last.toISOString()).toBe('2026-10-05T00:00:00.000Z');

        const midnight = await sqlIn(db)<{ hours: number }>`
      select count(*)::int as hours from ${table}
      where hour_stamp = 'end' and published_at = '2026-10-03 00:00+00'`;
        expect(midnight[0]!.hours).toBeGreaterThan(0);
        const again = await load({ ...days, start_date: '2026-10-03' }, { align_to_period_end: true });
        expect(again.totals).toMatchObject({ rows_inserted: 0, rows_changed: 0, rows_retracted: 0 });
      });
    },
  );
});
