import { sql } from 'kysely';
import { describe, expect } from 'vitest';
import { catalog, feedNamed } from '../../src/feeds/catalog.ts';
import type { FieldAliases } from '../../src/feeds/feed.ts';
import { type RepairContext, type RepairResult, repair } from '../../src/load/repair.ts';
import { indexOverTime } from '../../src/questions/indices.ts';
import type { Warehouse } from '../../src/warehouse/connect.ts';
import type { WindowScope } from '../../src/warehouse/tables/series.ts';
import { aJobOf, feedCases } from '../feeds/cases.ts';
import { aProcess } from '../support/a-process.ts';
import { aSandboxForAll } from '../support/for-all.ts';
import { aRewritingProxy, renaming } from '../support/rewriting-proxy.ts';
import { aJobFor, refresh, runBackfill, usualClock } from '../support/run-backfill.ts';
import { aSandbox, it } from '../support/serving.ts';
import { aWarehouse } from '../support/test-warehouse.ts';
import { heldBy, servedBy } from '../support/truth.ts';
import { countRows, sqlIn, untilOneWaits } from '../support/warehouse-state.ts';

const volume = 0.4;
const scope = { countries: ['US', 'NO'], topics: ['Inflation-Food'], from: '2026-09-01', to: '2026-09-10' };
const exactDays = { lookback: 'P0D', service: { end_date: 'inclusive', page_size: 50 } };
const job = aJobFor(scope, exactDays);

const timeRenamed = { publication_time: 'pubTime' };
const timeAlias: FieldAliases = { published_at: ['pubTime'] };
const scoresRenamed = {
  topic_probability: 'tp',
  directional_positive: 'dirPos',
  semantic_negative: 'semNeg',
};
const scoreAliases: FieldAliases = {
  topic_probability: ['tp'],
  directional_positive: ['dirPos'],
  semantic_negative: ['semNeg'],
};

async function repairAll(db: Warehouse, fields: FieldAliases, more: Partial<RepairContext> = {}) {
  await using process = await aProcess(db);
  return await repair({
    warehouse: db.patient({}),
    process,
    feed: feedNamed('gmsi-headlines'),
    fields,
    scope: undefined,
    job: 'test',
    dryRun: false,
    stop: new AbortController().signal,
    batchSize: 40,
    ...more,
  });
}

/** All of a feed's table but when and by which load it came to be so: on a watched day, from the repair on. */
async function contentOf(db: Warehouse, table: string): Promise<string[]> {
  const rows = await sqlIn(db)<{ row: object }>`
    select to_jsonb(t) - array['first_seen_at', 'changed_at', 'asked_at', 'is_backfilled', 'load_id', 'window_id'] as row from ${sql.table(`gmsi.${table}`)} t
  `;
  return rows.map(({ row }) => JSON.stringify(row)).sort();
}

/** Everything that a repair could touch. */
async function stateOf(db: Warehouse) {
  const tables = ['headlines', 'headline_revisions', 'rejected_records', 'loads'];
  const states = tables.map(
    (table) => sql`select to_jsonb(t) from ${sql.table(`gmsi.${table}`)} t order by to_jsonb(t)::text`,
  );
  return Promise.all(states.map(async (query) => (await query.execute(db)).rows));
}

const more = { ...scope, topics: ['Elections'] };
const bothAliases = { ...timeAlias, ...scoreAliases };

/** A warehouse with rejected records of one topic and empty columns of another. */
async function bothWaysRenamed() {
  const warehouse = await aWarehouse();
  await using drifting = await aRewritingProxy(sandbox, renaming(timeRenamed));
  const run = { db: warehouse.db, sandbox: drifting };
  const { totals } = await runBackfill({ job, ...run });
  drifting.rewrite = renaming(scoresRenamed);
  const filling = await runBackfill({ job: aJobFor(more, exactDays), ...run });
  return {
    warehouse,
    rejected: totals.records,
    filling: filling.totals.records,
    [Symbol.asyncDispose]: () => warehouse[Symbol.asyncDispose](),
  };
}

const nothing = { records: 0, rows: 0, superseded: 0, rowsFilled: 0, columnsFilled: {} };

const sandbox = await aSandboxForAll({ volume, clock: usualClock, tickerHistoryLimitDays: null });

describe('values that were rejected', () => {
  const counted = aJobOf('gmsi-index', {
    ...exactDays,
    countries: ['US'],
    topics: ['Inflation-Food'],
    start_date: scope.from,
    end_date: scope.to,
    parameters: { sentiment_type: 'directional' },
  });
  const index = feedNamed('gmsi-index');
  /** Answers in which every tenth count cannot be read, and an eleventh that is sent under another name as well. */
  const unreadable: Parameters<typeof aRewritingProxy>[1] = (page) => ({
    ...page,
    data: page.data.map((record, at) =>
      at % 10 > 0 ? record : { ...record, headline_count: `1,${at}34`, counted: at },
    ),
  });

  it('leave a row, and an hour that is in no mean, whatever else is retracted', async ({ db }) => {
    await using drifting = await aRewritingProxy(sandbox, unreadable);
    const result = await runBackfill({ job: counted, db, sandbox: drifting });
    const { rows_inserted, records } = result.totals;
    const rejected = await countRows(db, 'rejected_records');
    expect(rejected).toBeGreaterThan(3);
    expect(result).toMatchObject({ outcome: 'done', totals: { records_rejected: 0 } });
    expect(rows_inserted).toBe(records);
    expect(Object.fromEntries(result.rejectedValues)).toEqual({ headline_count: rejected });
    const rows = await sqlIn(db)`
      select round((d.headline_count - s.count)::numeric, 6) as count, round((d.sentiment_sum - s.sum)::numeric, 6) as sum,
             round((d.sentiment_mean - s.sum / s.count)::numeric, 6) as mean, d.hours - s.hours as others
      from (select sum(headline_count) as headline_count, sum(sentiment_sum) as sentiment_sum, sum(hours) as hours,
                   sum(sentiment_mean * headline_count) / sum(headline_count) as sentiment_mean from gmsi.index_daily) as d,
           (select sum(headline_count) as count, sum(sentiment_sum) as sum, count(*) as hours from gmsi.gmsi_index
            where headline_count is not null) as s`;
    expect(rows).toEqual([{ count: '0.000000', sum: '0.000000', mean: '0.000000', others: rejected }]);
    const asked = { feed: 'gmsi-index', subject: 'US', from: scope.from, to: scope.to, by: 'day' } as const;
    const shown = (await indexOverTime(asked).query.execute(db)).rows;
    const daily = await sqlIn(db)<{ count: number; mean: number }>`
      select headline_count as count, sentiment_mean as mean from gmsi.index_daily where headline_count > 0 order by day`;
    expect(shown).toMatchObject(daily.map(({ count, mean }) => ({ count, mean: expect.closeTo(mean, 9) })));

    // The next drain lacks a record, and meets the same values: only the record is retracted.
    drifting.rewrite = (page) => {
      const { data, ...rest } = unreadable(page) as typeof page;
      return { ...rest, data: data.filter((_, at) => at !== 1) };
    };
    const again = await runBackfill({ job: counted, db, sandbox: drifting, plan: refresh });
    expect(again.totals).toMatchObject({ rows_changed: 0, rows_retracted: again.totals.pages });
  });

  it('are filled once they can be read, as read again, and their record is let go', async ({ db }) => {
    await using drifting = await aRewritingProxy(sandbox, unreadable);
    await runBackfill({ job: counted, db, sandbox: drifting });
    const rejected = await countRows(db, 'rejected_records');
    const unread = { records: rejected, rows: 0, stillRejected: { 'no readable headline_count': rejected } };
    const before = await stateOf(db);
    expect(await repairAll(db, {}, { feed: index })).toMatchObject({ ...unread, rowsFilled: 0 });
    expect(await stateOf(db), 'nothing has changed').toEqual(before);

    const fields = { headline_count: ['counted'] };
    expect(await repairAll(db, fields, { feed: index })).toMatchObject({
      records: rejected,
      rows: 0,
      stillRejected: {},
      columnsFilled: { headline_count: rejected },
    });
    expect(await countRows(db, 'rejected_records')).toBe(0);
    const rows = await sqlIn(db)`select distinct reason from gmsi.revisions`;
    expect(rows).toEqual([{ reason: 'read again' }]);
  });

  it('are let go if the service has sent the row since, and never replace it', async ({ db }) => {
    await using drifting = await aRewritingProxy(sandbox, unreadable);
    await runBackfill({ job: counted, db, sandbox: drifting });
    const rejected = await countRows(db, 'rejected_records');
    await runBackfill({ job: counted, db, sandbox, plan: refresh });
    const sent = await contentOf(db, 'gmsi_index');
    const seen = { records: rejected, rows: 0, superseded: rejected, stillRejected: {} };
    expect(await repairAll(db, {}, { feed: index, dryRun: true })).toMatchObject(seen);
    expect(await repairAll(db, {}, { feed: index })).toMatchObject(seen);
    expect(await contentOf(db, 'gmsi_index')).toEqual(sent);
    expect(await countRows(db, 'rejected_records')).toBe(0);
  });
});

describe('records that were rejected', () => {
  it('stay, with the present reason, if they still cannot be read', async ({ db }) => {
    await using drifting = await aRewritingProxy(sandbox, ({ data, ...page }) => ({
      ...page,
      data: data.map(({ publication_time: time, topic_probability: _, ...record }, index) => {
        const scores = Object.entries(record).filter(([name]) => /^(dir|sem)/.test(name));
        if (index % 2 === 0) for (const [name] of scores) delete record[name];
        return { ...record, pubTime: time };
      }),
    }));
    const { totals } = await runBackfill({ job, db, sandbox: drifting });
    const result = await repairAll(db, timeAlias);
    const without = result.stillRejected['no directional or semantic score']!;
    expect(result).toMatchObject({ outcome: 'done', rows: totals.records - without });
    expect(without).toBeGreaterThan(totals.records / 3);
    const rows = await sqlIn(db)`select reason, count(*) from gmsi.rejected_records group by 1`;
    expect(rows).toEqual([{ reason: 'no directional or semantic score', count: without }]);
  });

  it('never replace what a load has brought since, and are let go', async ({ db }) => {
    let now = new Date('2026-09-11T00:00:00Z');
    const changing = () => now;
    const changes = { revised: 0.4 };
    await using sandbox = await aSandbox({ volume, clock: changing, changes });
    await using drifting = await aRewritingProxy(sandbox, renaming(timeRenamed));
    const first = await runBackfill({ job, db, sandbox: drifting, clock: changing });
    now = usualClock();
    await runBackfill({ job, db, sandbox, clock: changing, plan: refresh });
    const before = await contentOf(db, 'headlines');
    for (const dryRun of [true, false])
      expect(await repairAll(db, timeAlias, { dryRun })).toMatchObject({
        rows: 0,
        superseded: first.totals.records,
      });
    expect(await contentOf(db, 'headlines')).toEqual(before);
    expect(await heldBy(db, scope)).toEqual(servedBy(sandbox, scope));
    expect(await countRows(db, 'rejected_records')).toBe(0);
  });

  it('never replace what a load brings at the same moment', async ({ db }) => {
    await using drifting = await aRewritingProxy(sandbox, renaming(timeRenamed));
    await runBackfill({ job, db, sandbox });
    const { totals } = await runBackfill({ job, db, sandbox: drifting, plan: refresh });
    const other = await db.startTransaction().execute();
    await sqlIn(other)`
      update gmsi.headlines set headline = 'newer', changed_at = clock_timestamp(), asked_at = clock_timestamp(), load_id = 999`;
    const repaired = repairAll(db, timeAlias, { batchSize: 1000 });
    try {
      await untilOneWaits(db);
    } finally {
      await other.commit().execute();
    }
    expect(await repaired).toMatchObject({ rows: 0, superseded: totals.records });
    expect(await sqlIn(db)`select distinct headline from gmsi.headlines`).toEqual([{ headline: 'newer' }]);
  });

  it('give the newer of two versions, also if the repair was interrupted', async ({ db }) => {
    let now = new Date('2026-09-11T00:00:00Z');
    const changing = () => now;
    const changes = { revised: 0.4 };
    await using sandbox = await aSandbox({ volume, clock: changing, changes });
    await using drifting = await aRewritingProxy(sandbox, renaming(timeRenamed));
    const first = await runBackfill({ job, db, sandbox: drifting, clock: changing });
    now = usualClock();
    await runBackfill({ job, db, sandbox: drifting, clock: changing, plan: refresh });
    expect(await countRows(db, 'rejected_records')).toBeGreaterThan(first.totals.records + 20);
    const stop = new AbortController();
    const onBatch = ({ records }: { records: number }) => {
      if (records >= first.totals.records) stop.abort();
    };
    const begun = await repairAll(db, timeAlias, { stop: stop.signal, onBatch });
    expect(begun.outcome).toBe('interrupted');
    expect(await repairAll(db, timeAlias)).toMatchObject({ outcome: 'done', superseded: 0 });
    expect(await heldBy(db, scope)).toEqual(servedBy(sandbox, scope));
  });
});

describe('columns that stayed empty', () => {
  it('are filled from extra as if read from the start; old versions are kept', async ({ db }) => {
    await using drifting = await aRewritingProxy(sandbox, renaming(scoresRenamed));
    const { totals } = await runBackfill({ job, db, sandbox: drifting });
    const { requests } = sandbox.stats();
    const result = await repairAll(db, scoreAliases);
    expect(result).toMatchObject({ records: 0, rowsFilled: totals.records, rowsOfAnotherIdentity: 0 });
    expect(Object.keys(result.columnsFilled).sort()).toEqual(
      [...Object.keys(scoreAliases), 'directional_score', 'semantic_score'].sort(),
    );
    expect(await heldBy(db, scope)).toEqual(servedBy(sandbox, scope));
    expect(sandbox.stats().requests).toBe(requests);

    // The old version is not kept as one whose scores the service has changed.
    const rows = await sqlIn(db)<Record<string, unknown>>`
      select r.reason, count(*), bool_and(r.topic_probability is null and r.directional_positive is null) as old_is_empty,
             bool_and(r.extra ? 'tp' and not h.extra ? 'tp') as tp_is_moved,
             bool_and(r.load_id < h.load_id and r.known_from = h.first_seen_at) as old_is_first,
             bool_and(r.known_to = h.changed_at and r.known_from < r.known_to) as follow_each_other,
             bool_and(h.directional_score is not distinct from h.directional_positive - h.directional_negative) as is_scored
      from gmsi.headline_revisions r join gmsi.headlines h using (country, topic, match_type, published_at, headline_id)
      group by 1`;
    const isSo = { old_is_empty: true, tp_is_moved: true, old_is_first: true };
    expect(rows).toEqual([
      { reason: 'read again', count: totals.records, ...isSo, follow_each_other: true, is_scored: true },
    ]);
  });

  it('are left alone if the alias would make the row known by something else', async ({ db }) => {
    await using sandbox = await aSandbox({ volume, records: { ids: false } });
    await using drifting = await aRewritingProxy(sandbox, renaming({ headline: 'caption' }));
    await runBackfill({ job, db, sandbox: drifting });
    const before = await stateOf(db);
    expect(await repairAll(db, { headline: ['caption'] })).toMatchObject({
      ...nothing,
      rowsOfAnotherIdentity: await countRows(db, 'headlines'),
    });
    expect(await stateOf(db)).toEqual(before);
  });

  it('are filled in the version that something else writes at the same moment', async ({ db }) => {
    await using drifting = await aRewritingProxy(sandbox, renaming(scoresRenamed));
    const { totals } = await runBackfill({ job, db, sandbox: drifting });
    const other = await db.startTransaction().execute();
    await sql`update gmsi.headlines set headline = 'newer', changed_at = clock_timestamp()`.execute(other);
    const repaired = repairAll(db, scoreAliases, { batchSize: totals.records });
    try {
      await untilOneWaits(db);
    } finally {
      await other.commit().execute();
    }
    expect(await repaired).toMatchObject({ outcome: 'done', rowsFilled: totals.records });
    const { rows } = await sql`
      select distinct headline, topic_probability is null as is_empty from gmsi.headlines`.execute(db);
    expect(rows).toEqual([{ headline: 'newer', is_empty: false }]);
  });
});

describe('a repair', () => {
  it('of some series changes them alone, a retraction stays, and a dry run says so without a change', async () => {
    await using loaded = await bothWaysRenamed();
    const { db } = loaded.warehouse;
    await sqlIn(db)`update gmsi.headlines set retracted_at = now() where country = 'NO'`;
    const topics = [...scope.topics, ...more.topics];
    const series = { feed: 'gmsi-headlines', matchType: 'COMBINED', tickers: [''], variants: [''] };
    const ofNorway: WindowScope = { ...more, ...series, topics, countries: ['NO'] };
    const before = await stateOf(db);
    const foreseen = await repairAll(db, bothAliases, { scope: ofNorway, dryRun: true });
    expect(foreseen.rows).toBeGreaterThan(0);
    expect(foreseen.rowsFilled).toBeGreaterThan(0);
    expect(await stateOf(db)).toEqual(before);
    expect(await repairAll(db, bothAliases, { scope: ofNorway })).toEqual(foreseen);

    expect(await heldBy(db, scope)).toEqual(servedBy(sandbox, { ...scope, countries: ['NO'] }));
    const left = await db.selectFrom('gmsi.rejected_records').select('country').distinct().execute();
    expect(left).toEqual([{ country: 'US' }]);
    const rows = await sqlIn(db)`
      select distinct country, topic_probability is null as empty, retracted_at is null as current
      from gmsi.headlines where topic = ${more.topics[0]} order by country
    `;
    expect(rows).toEqual([
      { country: 'NO', empty: false, current: false },
      { country: 'US', empty: true, current: true },
    ]);
  });

  it('goes on where it was stopped, after any batch', async () => {
    await using loaded = await bothWaysRenamed();
    const { db } = loaded.warehouse;
    const results: RepairResult[] = [];
    do {
      const stop = new AbortController();
      const onBatch = () => stop.abort();
      results.push(await repairAll(db, bothAliases, { stop: stop.signal, onBatch }));
      const total = (await countRows(db, 'headlines')) + (await countRows(db, 'rejected_records'));
      expect(total).toBe(loaded.rejected + loaded.filling);
    } while (results.at(-1)!.outcome === 'interrupted');
    expect(results.length).toBeGreaterThan(3);
    expect(await heldBy(db, scope)).toEqual(servedBy(sandbox, scope));
    expect(await heldBy(db, more)).toEqual(servedBy(sandbox, more));
    expect(await countRows(db, 'headline_revisions')).toBe(loaded.filling);
    const counted = await sqlIn(db)`
      select sum(requests)::int as requests, sum(records)::int as records, sum(rows_inserted)::int as rows from gmsi.loads
      where command = 'repair'`;
    expect(counted).toEqual([{ requests: 0, records: loaded.rejected, rows: loaded.rejected }]);
    expect(await sqlIn(db)`select from gmsi.headlines where not is_backfilled`).toEqual([]);

    const before = await stateOf(db);
    expect(await repairAll(db, bothAliases)).toMatchObject(nothing);
    expect(await stateOf(db)).toEqual(before);
  });

  it.for([
    ['has nothing of it', 'delete from gmsi.loads where load_id = new.load_id;'],
    ['lacks its last batch', 'update gmsi.loads set pages = 1 where load_id = new.load_id;'],
  ] as const)('is not called done if the warehouse goes back in time and %s', async ([, lose], { db }) => {
    await using drifting = await aRewritingProxy(sandbox, renaming(timeRenamed));
    await runBackfill({ job, db, sandbox: drifting });
    await sqlIn(db)`
          create table gmsi.backup as select * from gmsi.rejected_records;
          create sequence gmsi.gone_back;
          create function gmsi.go_back() returns trigger language plpgsql as $$
          begin
            if nextval('gmsi.gone_back') = 1 then
              ${sql.raw(lose)} delete from gmsi.headlines;
              insert into gmsi.rejected_records select * from gmsi.backup on conflict do nothing;
            end if;
            return null;
          end $$;
          create trigger go_back after update of pages on gmsi.loads for each row
            when (new.command = 'repair' and new.pages = 2) execute function gmsi.go_back()`;
    await expect(repairAll(db, timeAlias)).rejects.toThrow(/does not list this repair/);
    expect(await repairAll(db, timeAlias)).toMatchObject({ outcome: 'done' });
    expect(await heldBy(db, scope)).toEqual(servedBy(sandbox, scope));
  });

  it('may run twice at once', async ({ db }) => {
    await using drifting = await aRewritingProxy(sandbox, renaming(timeRenamed));
    const { totals } = await runBackfill({ job, db, sandbox: drifting });
    const both = await Promise.all([repairAll(db, timeAlias), repairAll(db, timeAlias)]);
    expect(both.map(({ outcome }) => outcome)).toEqual(['done', 'done']);
    expect(await countRows(db, 'headlines')).toBe(totals.records);
    expect(await countRows(db, 'headline_revisions')).toBe(0);
    expect(await heldBy(db, scope)).toEqual(servedBy(sandbox, scope));
  });
});

describe.each([...catalog.values()])('of feed $name', (feed) => {
  const days = { from: '2026-09-01', to: '2026-09-04' };
  it('rejected records and empty columns end as if the names were known', async ({ db }) => {
    await using reference = await aWarehouse();
    const { series, columns, value: column } = feedCases[feed.name];
    const [time] = feed.table.key;
    const [first] = series.flatMap((query) => sandbox.truthOf(feed.name, { ...query, ...days }));
    const fields = { time: feed.fields[time]!.find((name) => name in first!.wire)!, value: columns[column]! };
    // Half of the days have the time under another name, the others a value.
    await using drifting = await aRewritingProxy(sandbox, ({ data, ...page }) => ({
      ...page,
      data: data.map((record) => {
        const from = String(record[fields.time]) < '2026-09-03' ? fields.time : fields.value;
        const { [from]: value, ...rest } = record;
        return { ...rest, [`x_${from}`]: value };
      }),
    }));
    const aliases: FieldAliases = { [time]: [`x_${fields.time}`], [column]: [`x_${fields.value}`] };
    const definition = { start_date: days.from, end_date: days.to, service: { max_rejected_percent: 100 } };
    const setting = { sandbox: drifting, clock: usualClock };
    await runBackfill({ job: aJobOf(feed.name, definition), db, ...setting });
    const knowing = aJobOf(feed.name, { ...definition, fields: aliases });
    await runBackfill({ job: knowing, db: reference.db, ...setting });
    const { requests } = sandbox.stats();
    const result = await repairAll(db, aliases, { feed });
    expect(result).toMatchObject({ stillRejected: {}, superseded: 0, rowsOfAnotherIdentity: 0 });
    expect(result.rows).toBeGreaterThan(0);
    expect(result.columnsFilled).toHaveProperty(column);
    expect(sandbox.stats().requests).toBe(requests);
    expect(await contentOf(db, feed.table.name)).toEqual(await contentOf(reference.db, feed.table.name));
    const kept = feed.name === 'gmsi-headlines' ? 'headline_revisions' : 'revisions';
    const rows = await sqlIn(db)`select reason, count(*) from ${sql.table(`gmsi.${kept}`)} group by 1`;
    expect(rows).toEqual([{ reason: 'read again', count: result.rowsFilled }]);
  });
});
