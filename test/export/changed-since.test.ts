import { createHash } from 'node:crypto';
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Kysely, type RawBuilder, sql } from 'kysely';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { gmsiHeadlines } from '../../src/feeds/gmsi-headlines.ts';
import type { Warehouse } from '../../src/warehouse/connect.ts';
import type { Database } from '../../src/warehouse/database.ts';
import { rollups } from '../../src/warehouse/tables/export-rows.ts';
import { aFolder, type Folder } from '../cli/gmsi.ts';
import { aWarehouse, type TestWarehouse } from '../support/test-warehouse.ts';
import { sqlIn } from '../support/warehouse-state.ts';
import {
  askDuckDB,
  comparable,
  difference,
  type ExportSetting,
  none,
  rowsIn,
  rowsOfTable,
  runExport,
} from './exporting.ts';

const months = ['2024-01', '2024-02', '2024-03', '2024-04'];

let warehouse: TestWarehouse;
let db: Warehouse;
let folder: Folder;
beforeEach(async () => {
  warehouse = await aWarehouse();
  db = warehouse.db;
  folder = await aFolder();
  for (const month of months) await insert(db, month);
});
afterEach(async () => {
  await warehouse[Symbol.asyncDispose]();
  await folder[Symbol.asyncDispose]();
});

/** Three headlines of a month, as a load stores them. */
async function insert(into: Kysely<Database>, month: string, changedAt: RawBuilder<unknown> = sql`now()`) {
  await sqlIn(into)`select gmsi.ensure_month_partition('headlines', ${`${month}-01`}::date)`;
  await sqlIn(into)`
    insert into gmsi.headlines (headline_id, country, topic, match_type, published_at, headline, directional_score,
      first_seen_at, changed_at, is_backfilled, load_id)
    select gen_random_uuid(), country, 'Wars', 'COMBINED', ${`${month}-10Z`}::timestamptz, 'text', 0.1, ${changedAt}, ${changedAt}, false, 1
    from unnest(array['US', 'GB', 'NO']) as country`;
}

async function revise(
  into: Kysely<Database>,
  month: string,
  set = sql`semantic_score = coalesce(semantic_score, 0) + 0.1`,
) {
  await sqlIn(into)`
    update gmsi.headlines set ${set}, changed_at = greatest(now(), changed_at + interval '1 microsecond')
    where country = 'US' and published_at = ${`${month}-10Z`}::timestamptz`;
}

/** Continues the export. */
const next = (setting: Partial<ExportSetting> = {}) =>
  runExport({ db, folder: folder.path, mode: 'continue', ...setting });

/** Continues the export, and compares all of it with the table. @returns how many months were written */
async function follow(setting: Partial<ExportSetting> = {}): Promise<number> {
  const { out, manifest, written } = await next(setting);
  const table = setting.scope?.table ?? gmsiHeadlines.table;
  const found = manifest.rows === 0 ? [] : await rowsIn(out!, manifest);
  expect(difference(found, await rowsOfTable(db, `gmsi.${table.name}`))).toEqual(none);
  expect(manifest.rows).toBe(found.length);
  return written.months;
}

it('writes only months in which a row was inserted, revised, retracted or removed, whatever the order', async () => {
  expect(await follow()).toBe(4);
  expect(await follow()).toBe(0);
  await revise(db, '2024-02');
  expect(await follow()).toBe(1);
  await revise(db, '2024-03', sql`retracted_at = now()`);
  await insert(db, '2024-05');
  expect(await follow()).toBe(2);
  await sqlIn(db)`delete from gmsi.headlines where country = 'NO' and published_at >= '2024-04-01Z'`;
  expect(await follow()).toBe(2);
  await sqlIn(db)`delete from gmsi.headlines where published_at < '2024-02-01Z'`;
  expect(await follow()).toBe(0);
  const { manifest } = await next();
  expect(manifest.months.map(({ month }) => month)).toEqual(['2024-02', '2024-03', '2024-04', '2024-05']);
  expect(manifest.files).toHaveLength(4);
  await sqlIn(db)`delete from gmsi.headlines`;
  expect(await follow()).toBe(0);
});

it('names the files that changed, and keeps the checksums of what they were before', async () => {
  const run = () => next({ rowsPerFile: 2 });
  const checksum = async (path: string) =>
    createHash('sha256')
      .update(await readFile(join(folder.path, 'export', path)))
      .digest('hex');
  const part = (month: string, n: number) => `month=${month}/part-${n}.parquet`;
  const first = (await run()).manifest;
  expect(first.changed).toEqual(first.files.map(({ path }) => ({ path, before: null })));
  expect(first.continues).toBeNull();
  for (const { path, sha256 } of first.files) expect(sha256).toBe(await checksum(path));
  const before = (path: string) => {
    const { path: _, ...file } = first.files.find((one) => one.path === path)!;
    return { path, before: file };
  };
  // GB, NO | US
  await revise(db, '2024-02');
  await sqlIn(db)`delete from gmsi.headlines where country = 'US' and published_at >= '2024-04-01Z'`;
  await insert(db, '2024-05');
  const { manifest } = await run();
  expect(manifest.changed).toEqual([
    before(part('2024-02', 1)),
    before(part('2024-04', 1)),
    { path: part('2024-05', 0), before: null },
    { path: part('2024-05', 1), before: null },
  ]);
  expect(manifest.continues).toBe(first.exported_at);
  expect(manifest.files.map(({ path }) => path)).not.toContain(part('2024-04', 1));
  for (const { path, sha256 } of manifest.files) expect(sha256).toBe(await checksum(path));
  expect((await run()).manifest).toEqual({ ...manifest, changed: [] });
});

it('follows all versions: a month is written again if one of its rows has a new version', async () => {
  const run = async () => {
    const scope = { versions: true };
    const { out, manifest, written } = await next({ scope });
    const current = await askDuckDB(
      `select * exclude (month, known_to, reason) rename (known_from as changed_at)
       from read_parquet('${out}/**/*.parquet') where known_to is null`,
    );
    expect(difference(comparable(current), await rowsOfTable(db, 'gmsi.headlines'))).toEqual(none);
    return { months: written.months, rows: manifest.rows };
  };
  expect(await run()).toEqual({ months: 4, rows: 12 });
  expect(await run()).toEqual({ months: 0, rows: 12 });
  await revise(db, '2024-02');
  expect(await run()).toEqual({ months: 1, rows: 13 });
  await revise(db, '2024-02', sql`retracted_at = now()`);
  expect(await run()).toEqual({ months: 1, rows: 14 });
  await expect(next()).rejects.toThrow(
    /contains an export of all versions of gmsi.headlines as parquet, not of gmsi.headlines as parquet/,
  );
});

it('sees a change that was committed after the export though it is older than rows that are exported', async () => {
  const late = await db.startTransaction().execute();
  await revise(late, '2024-02');
  await sqlIn(db)`select pg_sleep(0.01)`;
  await sqlIn(db)`
    update gmsi.headlines set semantic_score = 0.5, changed_at = now()
    where country = 'GB' and published_at = '2024-02-10Z'`;
  expect(await follow()).toBe(4);
  await late.commit().execute();
  expect(await follow()).toBe(1);
});

it('leaves the export that is there as it was if it fails', async () => {
  await follow();
  await revise(db, '2024-02');
  const onRows = () => {
    throw new Error('power cut');
  };
  await expect(next({ onRows })).rejects.toThrow('power cut');
  expect(await readdir(folder.path)).toEqual(['export']);
  expect(await follow()).toBe(1);
});

it('writes again a month whose files somebody has removed or cut', async () => {
  await follow();
  const out = join(folder.path, 'export');
  await rm(join(out, 'month=2024-01'), { recursive: true });
  await writeFile(join(out, 'month=2024-03', 'part-0.parquet'), 'PAR1');
  expect(await follow()).toBe(2);
});

it('completes an export of which nothing but the last word is missing', async () => {
  await follow();
  const path = join(folder.path, 'export', '_manifest.json');
  const json = await readFile(path, 'utf8');
  await writeFile(path, json.replace('"complete": true', '"complete": false'));
  expect(await follow()).toBe(0);
  expect(JSON.parse(await readFile(path, 'utf8'))).toMatchObject({ complete: true });
});

it('writes all months again if other series, days or columns are asked for', async () => {
  await runExport({ db, folder: folder.path, scope: { only: { country: ['US'] } } });
  expect(await follow()).toBe(4);
  expect((await next({ scope: { from: '2024-01-05' } })).written.months).toBe(4);
  expect(await follow()).toBe(4);
  await sqlIn(db)`alter table gmsi.headlines add column "of a user" text default 'x'`;
  expect(await follow()).toBe(4);
});

it('writes the months at the end of a period that moves on', async () => {
  const until = (to: string) => next({ scope: { to } }).then(({ written }) => written);
  expect(await until('2024-03-05')).toMatchObject({ months: 2, rows: 6 });
  expect(await until('2024-03-20')).toMatchObject({ months: 1, rows: 3 });
  expect(await until('2024-03-20')).toMatchObject({ months: 0 });
});

it('since a moment, a new export holds only what has changed since, and can be continued', async () => {
  const since = '2024-06-01T00:00:00Z';
  await sqlIn(db)`update gmsi.headlines set changed_at = '2024-05-01Z'`;
  await revise(db, '2024-03');
  expect((await next({ since })).manifest).toMatchObject({
    changed_since: since,
    months: [{ month: '2024-03', rows: 3 }],
  });
  await revise(db, '2024-01');
  const { manifest } = await next();
  expect(manifest.months.map(({ month }) => month)).toEqual(['2024-01', '2024-03']);
});

it('since a moment, also writes the months at the end of a period that moves on, from the one in which it ended', async () => {
  await sqlIn(db)`update gmsi.headlines set changed_at = '2024-05-01Z'`;
  await revise(db, '2024-01');
  const until = async (to: string, since?: string) => {
    const { manifest } = await next({ since, scope: { to } });
    return manifest.months.map(({ month, rows }) => `${month}: ${rows}`);
  };
  expect(await until('2024-03-05', '2024-06-01T00:00:00Z')).toEqual(['2024-01: 3']);
  expect(await until('2024-03-20')).toEqual(['2024-01: 3', '2024-03: 3']);
});

it('since a moment, also writes what has not changed since the export that is there', async () => {
  await follow();
  expect(await follow({ since: '2024-06-01T00:00:00Z' })).toBe(4);
});

it.each(['hourly', 'daily'] as const)('follows the %s rollups, too', async (kind) => {
  const scope = { table: rollups[kind] };
  expect(await follow({ scope })).toBe(4);
  await revise(db, '2024-02', sql`topic_probability = 0.5`);
  expect(await follow({ scope })).toBe(1);
  // Now the sums of the month are the same, but not those of its days.
  await sqlIn(
    db,
  )`insert into gmsi.headlines select (jsonb_populate_record(h, '{"published_at": "2024-02-20Z"}')).*
            from gmsi.headlines h where country = 'GB' and published_at = '2024-02-10Z'`;
  await sqlIn(db)`delete from gmsi.headlines where country = 'GB' and published_at = '2024-02-10Z'`;
  expect(await follow({ scope })).toBe(1);
  expect(await follow({ scope })).toBe(0);
});

it('is of the same table and format, and of a manifest that can be read', async () => {
  await follow();
  const wrong = (setting: Partial<ExportSetting>) => expect(next(setting)).rejects;
  await wrong({ format: 'csv' }).toThrow(/contains an export of gmsi.headlines as parquet, not of .* as csv/);
  await wrong({ scope: { table: rollups.daily } }).toThrow(/not of gmsi.sentiment_daily as parquet/);
  const path = join(folder.path, 'export', '_manifest.json');
  const json = await readFile(path, 'utf8');
  for (const text of ['{', '{"files": []}', json.replace('month=2024-01/part-0', '../../part-0')]) {
    await writeFile(path, text);
    await wrong({}).toMatchObject({
      message: expect.stringMatching(/cannot continue/),
      hint: expect.stringContaining('--overwrite'),
    });
  }
});
