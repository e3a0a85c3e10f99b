import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { type SandboxOptions, writeArchives } from '#sandbox';
import { openDuckDB } from '../../src/duckdb.ts';
import { aSandboxForAll } from '../support/for-all.ts';
import { aRewritingProxy } from '../support/rewriting-proxy.ts';
import { aJob, refresh, runBackfill, stoppedAt } from '../support/run-backfill.ts';
import { aWarehouse } from '../support/test-warehouse.ts';
import { countRows, sqlIn, windowsOf } from '../support/warehouse-state.ts';
import { aFolder, aZip, clock, it, rowsIn, runImport } from './importing.ts';

/** The vendor's bulk archives, as the sandbox writes them, against the same data over the API. */

const days = { from: '2025-12-25', to: '2026-01-05' };
const world: SandboxOptions = {
  limits: null,
  clock,
  volume: 0.5,
  tickerHistoryLimitDays: null,
  archive: { ...days, tickers: ['BTC_CRY'], countries: ['US'], topics: ['Governance/Corruption'] },
};

const feeds = [
  {
    feed: 'ticker-headlines',
    table: 'ticker_headlines',
    zip: 'asset_headlines_',
    types: ['EXPLICIT', 'IMPLICIT'],
  },
  {
    feed: 'ticker-index',
    table: 'ticker_index',
    zip: 'asset_index_',
    types: ['COMBINED', 'EXPLICIT', 'IMPLICIT'],
  },
  { feed: 'gmsi-headlines', table: 'headlines', zip: 'gmsi_headlines_', types: ['COMBINED'] },
  { feed: 'gmsi-index', table: 'gmsi_index', zip: 'gmsi_index_', types: ['COMBINED'] },
];

function jobFor(feed: string, match_type: string, overrides: object = {}) {
  const selection = feed.startsWith('ticker')
    ? { tickers: ['BTC_CRY'], countries: undefined, topics: undefined }
    : { countries: ['US'], topics: ['Governance/Corruption'] };
  const period = { start_date: days.from, end_date: days.to };
  const service = { end_date: 'inclusive' };
  return aJob({ feed, match_type, ...selection, ...period, service, ...overrides });
}

const sandbox = await aSandboxForAll(world);
let folder: Awaited<ReturnType<typeof aFolder>>;
let archives: string[];
beforeAll(async () => {
  folder = await aFolder();
  archives = (await writeArchives(folder.path, world)).map(({ path }) => path);
});
afterAll(async () => {
  await folder[Symbol.asyncDispose]();
});

const archiveOf = (name: string) => archives.filter((path) => path.includes(`/${name}`));

describe.each(feeds)('an archive of $feed', ({ feed, table, zip, types }) => {
  it('becomes the rows of a backfill, which then requests only the year that was not over', async () => {
    await using imported = await aWarehouse();
    await using drained = await aWarehouse();
    for (const type of types) await runBackfill({ job: jobFor(feed, type), db: drained.db, sandbox, clock });
    const result = await runImport(imported.db, archiveOf(zip));
    expect(result).toMatchObject({ outcome: 'done', refused: [], covered: { days: expect.any(Number) } });
    const rows = await rowsIn(imported.db, table);
    expect(rows.length).toBeGreaterThan(5);
    expect(rows).toEqual(await rowsIn(drained.db, table));

    const before = sandbox.stats().pages;
    let series = 0;
    for (const type of types) {
      const job = jobFor(feed, type, { step: 'P90D' });
      const { outcome, totals } = await runBackfill({ job, db: imported.db, sandbox, clock });
      expect({ outcome, ...totals }).toMatchObject({
        outcome: 'done',
        rows_inserted: 0,
        rows_changed: 0,
        rows_retracted: 0,
      });
      series += totals.windows_drained;
    }
    const drainedDays = await sqlIn(imported.db)<{ days: string }>`
      select distinct days::text from gmsi.windows`;
    expect(drainedDays).toEqual([{ days: '[2026-01-01,2026-01-06)' }]);
    // One page each: the first of January to the last day.
    expect(sandbox.stats().pages - before).toBe(series);
    expect(await rowsIn(imported.db, table)).toEqual(rows);
  });
});

it('rows of a regional macro index have their country, but no model', async ({ db }) => {
  const result = await runImport(db, archiveOf('macro_geopolitical_sentiment_'), { days });
  expect(result).toMatchObject({ outcome: 'done', refused: [], covered: { series: 2 }, withoutDays: 0 });
  const rows = await sqlIn(db)<Record<string, unknown>>`
    select match_type, variant, country_name, topic, headline_count, sentiment_sum, model, hour_stamp,
           hour_ends_at - published_at = '1 hour' as is_conservative
    from gmsi.regional_index order by match_type, published_at, topic`;
  const truth = ['DOMESTIC', 'INTERNATIONAL'].flatMap((index_type) => {
    const asked = { model: 'macro_1', country_preset: 'united states', index_type };
    return sandbox.truthOf('regional-index', { ...asked, ...days }).map(({ wire }) => ({
      match_type: index_type,
      variant: 'country_preset=united+states',
      model: null,
      country_name: 'United States',
      topic: wire.topic_name,
      headline_count: wire.headline_count,
      sentiment_sum: wire.sentiment_sum,
      hour_stamp: 'unknown',
      is_conservative: true,
    }));
  });
  const sorted = (all: readonly object[]) =>
    all.map((row) => JSON.stringify(Object.entries(row).sort())).sort();
  expect(rows.length).toBeGreaterThan(100);
  expect(sorted(rows)).toEqual(sorted(truth));
});

it('with its days stated, an archive leaves no day to ask for', async ({ db }) => {
  const service = { end_date: 'inclusive', concurrency: 1 };
  const job = jobFor('gmsi-headlines', 'COMBINED', { step: 'P2D', service });
  // Somebody began over the API, and stopped.
  const begun = await runBackfill({ job, db, sandbox, clock, ...stoppedAt(1) });
  expect(begun.outcome).toBe('interrupted');
  const left = await windowsOf(db);
  expect(left.filter(({ state }) => state === 'pending').length).toBeGreaterThan(3);
  const result = await runImport(db, archiveOf('gmsi_headlines_'), { days });
  expect(result).toMatchObject({ outcome: 'done', covered: { series: 1 }, withoutDays: 0 });
  const { pages } = sandbox.stats();
  const rerun = await runBackfill({ job, db, sandbox, clock });
  expect(rerun).toMatchObject({ outcome: 'done', totals: { windows_drained: 0 } });
  expect(sandbox.stats().pages).toBe(pages);
});

it('headlines that the service revises are as in the newest of two archives, in any order', async ({
  db,
}) => {
  await using folder = await aFolder();
  const write = async (time: string) => {
    const archive = { ...world.archive, tickers: [] };
    const revising = { ...world, clock: () => new Date(time), changes: { revised: 0.9 }, archive };
    const written = await writeArchives(folder.path, revising);
    return written.find(({ path }) => path.includes('gmsi_headlines_'))!.path;
  };
  const [older, newer] = [await write('2026-01-06T12:00:00Z'), await write('2026-10-01T12:00:00Z')];
  await using alone = await aWarehouse();
  await runImport(alone.db, [newer]);
  expect(await runImport(db, [newer, older])).toMatchObject({ outcome: 'done', superseded: [older] });
  const late = await runImport(db, [older]);
  expect(late).toMatchObject({ outcome: 'done', loaded: 0, superseded: [older] });
  expect(await rowsIn(db, 'headlines')).toEqual(await rowsIn(alone.db, 'headlines'));

  // The other way round, what has changed since is a revision of an import.
  await using grown = await aWarehouse();
  await runImport(grown.db, [older]);
  const { loads } = await runImport(grown.db, [newer]);
  expect(loads[0]!.totals).toMatchObject({ rows_inserted: 0, rows_changed: expect.any(Number) });
  expect(await rowsIn(grown.db, 'headlines')).toEqual(await rowsIn(alone.db, 'headlines'));
  const rows = await sqlIn(grown.db)<{ command: string; revisions: number }>`
    select l.command, count(*)::int as revisions from gmsi.headline_revisions join gmsi.loads l using (load_id)
    group by 1`;
  expect(rows).toEqual([{ command: 'import', revisions: loads[0]!.totals.rows_changed }]);
  expect(rows[0]!.revisions).toBeGreaterThan(5);
});

it('made-up archives and real ones are not mixed in a warehouse', async ({ db }) => {
  await sqlIn(db)`insert into gmsi.origin (served_by) values ('service')`;
  await expect(runImport(db, archives)).rejects.toThrow('This warehouse contains real headlines');
  expect(await rowsIn(db, 'headlines')).toEqual([]);
});

describe('an archive of 32-bit numbers', () => {
  const job = jobFor('gmsi-headlines', 'COMBINED');
  const stated = {
    country: 'US',
    topic: 'Governance/Corruption',
    matchType: 'COMBINED',
    feed: 'gmsi-headlines',
  };
  const scores = ['directional_positive', 'directional_neutral', 'directional_negative', 'topic_probability'];
  /** Answers whose scores have all digits of a 64-bit number: thirds of those that are sent, and `more`. */
  const inThirds =
    (more = 0): Parameters<typeof aRewritingProxy>[1] =>
    (page) => ({
      ...page,
      data: page.data.map((record) => ({
        ...record,
        ...Object.fromEntries(scores.map((name) => [name, (record[name] as number) / 3 + more])),
      })),
    });

  /** Writes an archive of the records that the service sends, all scores in 32 bits, made after everything else. */
  async function archived({ path, write }: typeof folder, served: readonly object[]): Promise<string> {
    const source = await write(
      'served.ndjson',
      served.map((record) => `${JSON.stringify(record)}\n`).join(''),
    );
    const parquet = join(path, 'floats.parquet');
    using duckdb = await openDuckDB('', new AbortController().signal);
    await duckdb.run(
      `copy (select * replace (${scores.map((name) => `${name}::float as ${name}`).join()})
             from read_json('${source}', maximum_depth = 1)) to '${parquet}' (format parquet)`,
    );
    const made = { comment: 'gmsi-sandbox', mtime: new Date(Date.now() + 60_000) };
    return write('floats.zip', await aZip({ 'floats.parquet': await readFile(parquet) }, made));
  }

  const withoutTopic: Parameters<typeof aRewritingProxy>[1] = (page) => ({
    ...page,
    data: page.data.map(({ topic_name: _, ...record }) => record),
  });

  it.for([
    ['few digits', (page: object) => page],
    ['no field for the topic, which the import adds', withoutTopic],
    ['all digits of a 64-bit number', inThirds()],
  ] as const)('has the rows of the service if these have %s', async ([, rewrite], { db, folder }) => {
    const served: object[] = [];
    await using proxy = await aRewritingProxy(sandbox, (page) => {
      const rewritten = rewrite(page) as typeof page;
      served.push(...rewritten.data);
      return rewritten;
    });
    await using drained = await aWarehouse();
    await runBackfill({ job, db: drained.db, sandbox: proxy, clock });
    const path = await archived(folder, served);

    // The service confirms what a file has, and a file what the service has sent.
    await runImport(db, [path], { stated });
    for (const warehouse of [db, drained.db]) {
      const { totals } = await runBackfill({ job, db: warehouse, sandbox: proxy, clock, plan: refresh });
      expect(totals).toMatchObject({ rows_inserted: 0, rows_changed: 0, rows_retracted: 0 });
      const { loads } = await runImport(warehouse, [path], { stated });
      expect(loads[0]!.totals).toMatchObject({ rows_inserted: 0, rows_changed: 0 });
      expect(await countRows(warehouse, 'headline_revisions')).toBe(0);
    }
  });

  it('has the shortest decimals, within objects and lists, too', async ({ db, folder }) => {
    const path = join(folder.path, 'floats.parquet');
    using duckdb = await openDuckDB('', new AbortController().signal);
    await duckdb.run(`copy (select '1' as id, '2025-12-26T10:00:00' as publication_time, 'One' as headline,
      0.9::float as topic_probability, {positive: 0.5::float, neutral: 0.3::float, negative: 0.2::float} as directional,
      0.1::float as relevance, [0.7::float] as others) to '${path}' (format parquet)`);
    await runImport(db, [path], { stated });
    expect(await rowsIn(db, 'headlines')).toMatchObject([
      {
        topic_probability: 0.9,
        directional_positive: 0.5,
        directional_neutral: 0.3,
        directional_negative: 0.2,
        extra: { relevance: 0.1, others: [0.7] },
      },
    ]);
  });
});
