import { chmod, readdir, readFile, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { sql } from 'kysely';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { catalog } from '../../src/feeds/catalog.ts';
import type { Warehouse } from '../../src/warehouse/connect.ts';
import { WarehouseUnavailable } from '../../src/warehouse/errors.ts';
import { countTotals, exportColumns, inOneState, linesOf } from '../../src/warehouse/tables/export-rows.ts';
import { aFolder } from '../cli/gmsi.ts';
import { docPages, fencesOf } from '../docs/pages.ts';
import { aJobOf } from '../feeds/cases.ts';
import { aSandboxForAll, aWarehouseForAll } from '../support/for-all.ts';
import { aJob, runBackfill, usualClock } from '../support/run-backfill.ts';
import { aWarehouse } from '../support/test-warehouse.ts';
import { sqlIn } from '../support/warehouse-state.ts';
import {
  aScope,
  askDuckDB,
  comparable,
  difference,
  none,
  rowsIn,
  rowsOfTable,
  runExport,
} from './exporting.ts';

const formats = ['parquet', 'csv'] as const;

const sandbox = await aSandboxForAll({ volume: 0.15, clock: usualClock });
const warehouse = await aWarehouseForAll();
let db: Warehouse;

beforeAll(async () => {
  db = warehouse.db;
  await runBackfill({ job: aJob({ end_date: '2024-02-29' }), db, sandbox });
  await insertAwkward(db);
});

/** What the service would hardly send, but the table can hold. */
async function insertAwkward(db: Warehouse): Promise<void> {
  await sqlIn(db)`
    insert into gmsi.headlines (headline_id, country, topic, match_type, published_at, headline, language, source,
      topic_probability, directional_score, semantic_score, semantic_positive, extra, first_seen_at, changed_at,
      retracted_at, is_backfilled, load_id)
    select gen_random_uuid(), country, 'Governance/Corruption', 'DOMESTIC',
      timestamptz '2024-02-29 23:59:59.999999+00', text, '', null, 0.1::float8 + 0.2::float8, score, -score, 5e-324,
      jsonb_build_object('text', text, 'list', jsonb_build_array(1, null, 1e30)), '2024-03-01 00:00:00.000001+00',
      '2024-03-02 01:02:03.1+05:30', case when country <> 'US' then timestamptz '2024-03-03Z' end, false, 9007199254740991
    from unnest(array['US', 'G/B=%"*[x]?''\ é', '..', 'NULL', '007']) as country,
      unnest(array['=1+1', 'a "quoted", text', E'two\nlines\r\nor\tthree', '', 'NULL', ' ', '漢字 😀 {}']) as text,
      unnest(array['NaN', 'Infinity', '-0.000000000123456789', '1']::float8[]) as score
  `;
}

async function modeOf(path: string): Promise<string> {
  return ((await stat(path)).mode & 0o777).toString(8);
}

describe.each(formats)('an export as %s', (format) => {
  it('holds every row to the last digit and microsecond, in a file for each month, or more', async () => {
    await using folder = await aFolder(`gmsi's export `);
    const { out, manifest } = await runExport({ db, folder: folder.path, format, rowsPerFile: 100 });

    const held = await rowsOfTable(db, 'gmsi.headlines');
    expect(held.length).toBeGreaterThan(500);
    expect(difference(await rowsIn(out!, manifest), held)).toEqual(none);
    expect(manifest.rows).toBe(held.length);

    const rows = await sqlIn(db)<{ month: string; rows: number }>`
      select to_char(published_at at time zone 'UTC', 'YYYY-MM') as month, count(*) as rows
      from gmsi.headlines group by 1 order by 1`;
    const expected = rows.flatMap(({ month, rows }) =>
      Array.from({ length: Math.ceil(rows / 100) }, (_, n) => ({
        path: `month=${month}/part-${n}.${format}`,
        rows: Math.min(100, rows - 100 * n),
      })),
    );
    expect(expected.length).toBeGreaterThan(rows.length);
    expect(manifest.files.map(({ path, rows }) => ({ path, rows }))).toEqual(expected);
    expect(await readdir(out!)).toEqual(['_manifest.json', ...rows.map(({ month }) => `month=${month}`)]);
  });

  it('can be read by its user only, and again by those whom an export before it admitted', async () => {
    await using folder = await aFolder();
    const modesIn = async (out: string) => {
      const found = await readdir(out, { recursive: true, withFileTypes: true });
      const modes = found.map(async (one) => [
        one.isDirectory(),
        await modeOf(join(one.parentPath, one.name)),
      ]);
      return new Set((await Promise.all(modes)).map(String));
    };
    const setting = { db, folder: folder.path, format, out: join(folder.path, 'new', 'export') };
    const { out } = await runExport(setting);
    for (const path of [dirname(out!), out!]) expect(await modeOf(path)).toBe('700');
    expect(await modesIn(out!)).toEqual(new Set(['true,700', 'false,600']));
    await chmod(out!, 0o750);
    await runExport({ ...setting, mode: 'replace' });
    expect(await modeOf(out!)).toBe('750');
    expect(await modesIn(out!)).toEqual(new Set(['true,750', 'false,640']));
  });

  it('is of the days asked for, both included, and of the countries and topics', async () => {
    await using folder = await aFolder();
    const only = { country: ['US', 'GB'], topic: ['Governance/Corruption'] };
    const scope = { from: '2024-02-10', to: '2024-02-29', only };
    const { out, manifest } = await runExport({ db, folder: folder.path, format, scope });

    const asked = `(select * from gmsi.headlines where country in ('US', 'GB') and topic = 'Governance/Corruption'
      and published_at >= '2024-02-10Z' and published_at < '2024-03-01Z')`;
    const rows = await rowsOfTable(db, asked);
    expect(rows.some((row) => row.includes('23:59:59.999999'))).toBe(true);
    expect(rows.length).toBeGreaterThan(20);
    expect(difference(await rowsIn(out!, manifest), rows)).toEqual(none);
  });
});

/** Some histories as they come about, and moments between their events. */
async function makeHistory(db: Warehouse): Promise<string[]> {
  await sqlIn(db)`update gmsi.headlines set first_seen_at = '2025-01-01Z', changed_at = '2025-01-01Z'`;
  const change = (at: string, set: string, modulo: number) =>
    sql`update gmsi.headlines set ${sql.raw(set)}, changed_at = ${at}
        where abs(hashtext(headline_id::text)) % ${modulo}::int = 0`.execute(db);
  await change('2025-02-01T00:00:00.000001Z', 'semantic_score = -semantic_score', 2);
  await change('2025-03-01Z', `retracted_at = '2025-03-01Z'`, 3);
  await change('2025-04-01Z', `retracted_at = null, headline = headline || '!'`, 6);
  return ['2024-12-31', '2025-01-15', '2025-02-01', '2025-02-15', '2025-03-15', '2025-04-15'];
}

it('as of a moment is the table as it stood then', async () => {
  await using own = await aWarehouse();
  await runBackfill({ job: aJob({ end_date: '2024-01-10' }), db: own.db, sandbox });
  const seen = new Set<string>();
  for (const day of await makeHistory(own.db)) {
    await using folder = await aFolder();
    const asOf = `${day}T00:00:00Z`;
    const { out, manifest } = await runExport({ db: own.db, folder: folder.path, scope: { asOf } });
    const stood = await rowsOfTable(own.db, `gmsi.headlines_as_of('${asOf}')`);
    const found = out === null ? [] : await rowsIn(out, manifest);
    expect(difference(found, stood), day).toEqual(none);
    seen.add(JSON.stringify(stood));
  }
  // A microsecond before the first change it had not happened; all other moments differ.
  expect(seen.size).toBe(5);
});

const own = await aWarehouseForAll();

describe('every row of each feed', () => {
  it.each([...catalog.values()])('is exported, by month: $name', async ({ name, table }) => {
    await using folder = await aFolder();
    const days = { start_date: '2026-09-27', end_date: '2026-10-04' };
    const job = aJobOf(name, days);
    await runBackfill({ job, db: own.db, sandbox });

    const { out, manifest } = await runExport({ db: own.db, folder: folder.path, scope: { table } });
    expect(manifest.partitioned_by).toEqual(['month']);
    const rows = await rowsOfTable(own.db, `gmsi.${table.name}`);
    expect(rows).not.toHaveLength(0);
    expect(difference(await rowsIn(out!, manifest), rows)).toEqual(none);
  });

  it.each([...catalog.values()])('is exported in all its versions: $name', async ({ table }) => {
    await using folder = await aFolder();
    const clock = () => sqlIn(own.db)<{ now: string }>`select clock_timestamp()::text as now`;
    const before = await clock();
    await sqlIn(own.db)`
      update ${sql.table(`gmsi.${table.name}`)} set extra = '{"changed": true}', changed_at = clock_timestamp()`;
    const { out } = await runExport({ db: own.db, folder: folder.path, scope: { table, versions: true } });
    for (const { now: moment } of [...before, ...(await clock())]) {
      const rows = await askDuckDB(
        `select * exclude (month, known_to, reason) rename (known_from as changed_at) from read_parquet('${out}/**/*.parquet')
         where known_from <= timestamptz '${moment}' and (known_to is null or known_to > timestamptz '${moment}')`,
      );
      const stood = await rowsOfTable(own.db, `gmsi.${table.name}_as_of('${moment}')`);
      expect(stood).not.toHaveLength(0);
      expect(difference(comparable(rows), stood), moment).toEqual(none);
    }
  });
});

it('is of one moment, whatever changes while it is read', async () => {
  await using own = await aWarehouse();
  await runBackfill({ job: aJob({ end_date: '2024-01-10' }), db: own.db, sandbox });
  const scope = aScope();
  const [counted, read] = await inOneState(own.db, new AbortController().signal, async (snapshot) => {
    const columns = await exportColumns(snapshot, scope);
    const totals = await countTotals(snapshot, scope, { columns, scores: [], months: ['2024-01'] });
    await sqlIn(own.db)`delete from gmsi.headlines where country = 'US'`;
    let rows = 0;
    for await (const batch of linesOf(snapshot, scope, '2024-01', { columns, atMost: 100 }))
      rows += batch.length;
    return [totals.reduce((sum, of) => sum + of.rows, 0), rows];
  });
  const left = await sqlIn(own.db)<{ count: number }>`select count(*) from gmsi.headlines`;
  expect(read).toBe(counted);
  expect(left[0]!.count).toBeLessThan(counted!);
});

it('has types that other programs know, and a manifest that they pass over', async () => {
  await using folder = await aFolder();
  const { out, manifest } = await runExport({
    db,
    folder: folder.path,
    scope: { only: { country: ['US'] } },
  });
  const types = await askDuckDB(
    `select distinct column_name, column_type from (describe select * from read_parquet('${out}/**/*.parquet'))`,
  );
  const typeOf = Object.fromEntries(types.map(({ column_name, column_type }) => [column_name, column_type]));
  expect(typeOf).toMatchObject({
    headline_id: 'VARCHAR',
    country: 'VARCHAR',
    month: 'VARCHAR',
    published_at: 'TIMESTAMP WITH TIME ZONE',
    semantic_score: 'DOUBLE',
    extra: 'VARCHAR',
    is_backfilled: 'BOOLEAN',
    load_id: 'BIGINT',
  });
  expect((await readdir(out!)).filter((name) => !name.startsWith('month='))).toEqual(['_manifest.json']);
  const written = JSON.parse(await readFile(join(out!, '_manifest.json'), 'utf8'));
  expect(written).toEqual(JSON.parse(JSON.stringify(manifest)));
});

it('is read by the queries of the docs as they are printed', async () => {
  const queries = docPages()
    .flatMap(fencesOf)
    .filter(({ language, marks }) => language === 'sql' && marks.includes('duckdb'));
  expect(queries).not.toHaveLength(0);
  await using folder = await aFolder();
  const out = { parquet: join(folder.path, 'parquet'), csv: join(folder.path, 'csv') };
  for (const format of formats) await runExport({ db, folder: folder.path, format, out: out[format] });
  await runExport({ db, folder: folder.path, out: `${out.parquet}-versions`, scope: { versions: true } });
  for (const { text, marks, place } of queries) {
    const printed = text.replace('export/gmsi-headlines', out[marks.includes('csv') ? 'csv' : 'parquet']);
    expect(await askDuckDB(printed), place).not.toHaveLength(0);
  }
});

it('is not put in place if the server has ended the session that had the right to', async () => {
  await using folder = await aFolder();
  const rights = sql.raw(`from pg_locks
    where locktype = 'advisory' and database = (select oid from pg_database where datname = current_database())`);
  const { exporting } = await db.transaction().execute(async (trx) => {
    // The export waits for this table until its session has ended.
    await sqlIn(trx)`lock table gmsi.headlines`;
    const exporting = runExport({ db, folder: folder.path });
    exporting.catch(() => {});
    await vi.waitFor(async () =>
      expect(await sqlIn(db)`select pg_terminate_backend(pid) ${rights}`).toHaveLength(1),
    );
    await vi.waitFor(async () => expect(await sqlIn(db)`select ${rights}`).toEqual([]));
    return { exporting };
  });
  await expect(exporting).rejects.toThrow(WarehouseUnavailable);
  expect(await readdir(folder.path)).toEqual([]);
  await runExport({ db, folder: folder.path });
  expect(await readdir(folder.path)).toEqual(['export']);
});
