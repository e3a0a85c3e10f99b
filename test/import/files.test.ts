import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import { sql } from 'kysely';
import { describe, expect } from 'vitest';
import { ZipFile } from 'yazl';
import { describeImport } from '../../src/commands/import/import-summary.ts';
import { openDuckDB } from '../../src/duckdb.ts';
import type { ImportResult } from '../../src/import/import-files.ts';
import type { Warehouse } from '../../src/warehouse/connect.ts';
import { breakAt } from '../load/break-at.ts';
import { aLog } from '../support/a-log.ts';
import { listed } from '../support/a-process.ts';
import { aWarehouse } from '../support/test-warehouse.ts';
import { sqlIn } from '../support/warehouse-state.ts';
import { aZip, clock, it, manyRecords, rowsIn, runImport, statedOfMany } from './importing.ts';

const stated = statedOfMany;
const header = 'id,publication_time,headline,directional_positive,directional_negative';
const id = (n: number) => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;
const good = `${header}\n${id(1)},2024-01-01T10:00:00,One,0.5,0.25\n${id(2)},2024-01-01T11:00:00,Two,0.5,0.25\n`;

describe('a file of records', () => {
  it('is read whatever program wrote it: byte-order mark, line ends, digits', async ({ db, folder }) => {
    const columns =
      'directional_negative,serial,headline,tags,publication_time,,id,directional_positive,empty';
    const rows = [
      `0.25,9007199254740993,"Two ""lines"",\r\nand a comma","[""a"",1]",2024-01-01T10:00:00,0,${id(1)},0.50,`,
      // Two files that were put together.
      columns,
      `"0.25",17,=1+1,{x,2024-01-01 12:00:00+01:00,1,${id(2)},1e-1,`,
      '',
    ];
    const path = await folder.write('any.csv', `\ufeff${columns}\r\n${rows.join('\r\n')}\r\n`);
    expect(await runImport(db, [path], { stated })).toMatchObject({ outcome: 'done', loaded: 1 });
    expect(await rowsIn(db, 'headlines')).toMatchObject([
      {
        headline_id: id(1),
        headline: 'Two "lines",\r\nand a comma',
        published_at: '2024-01-01T10:00:00+00:00',
        directional_positive: 0.5,
        directional_negative: 0.25,
        directional_score: 0.25,
        is_backfilled: true,
        extra: { serial: '9007199254740993', tags: ['a', 1], empty: null, topic_name: 'Inflation-Food' },
      },
      {
        headline_id: id(2),
        headline: '=1+1',
        published_at: '2024-01-01T11:00:00+00:00',
        directional_positive: 0.1,
        extra: { serial: 17, tags: '{x', empty: null },
      },
    ]);
  });

  it('is said to lack a column, if none of its records has a field for it', async ({ db, folder }) => {
    const misspelt = good.replace('headline', 'headlin').replaceAll('00000000-', '10000000-');
    const paths = [await folder.write('a.csv', good), await folder.write('b.csv', misspelt)];
    const result = await runImport(db, paths, { stated });
    expect(Object.fromEntries(result.absent)).toMatchObject({ source: 2, headline: 1 });
    expect([...result.absent.keys()]).not.toContain('directional_score');
    const said = describeImport(result, undefined, clock());
    expect(said).toMatch(
      /absent\S* +no record has a field for .*, headline \(in 1 file\), language, .*\bsource,/,
    );
    // Nothing is known of a file that is not read again.
    expect((await runImport(db, paths, { stated })).absent.size).toBe(0);
  });

  it('with NaN for a score or an object for a text is counted', async ({ db, folder }) => {
    const record = (n: number, score: string) =>
      `{"id":"${id(n)}","publication_time":"2024-01-01T10:00:00","directional_positive":${score},"directional_score":0.1,"source":{"a":1,"b":2}}\n`;
    const ndjson = await folder.write('a.ndjson', record(1, 'NaN') + record(2, '0.5'));
    const parquet = `${folder.path}/b.parquet`;
    using duckdb = await openDuckDB('', new AbortController().signal);
    const values = `'2024-01-01T10:00:00' as publication_time, 0.1 as directional_score, {a: 1, b: 2} as source`;
    await duckdb.run(
      `copy (select '${id(3)}' as id, 'nan'::double as directional_positive, ${values}) to '${parquet}' (format parquet)`,
    );
    const result = await runImport(db, [ndjson, parquet], { stated });
    expect(describeImport(result, undefined, clock())).toMatch(
      /rejected\S* +2 values of directional_positive \(null\).*3 values of source/s,
    );
    expect(await rowsIn(db, 'headlines')).toHaveLength(3);
  });

  it('may be of a topic that has left the lists, but not of an unknown one', async ({ db, folder }) => {
    await sqlIn(db)`insert into gmsi.topics (topic, listed) values ('Inflation-Food', false), ('Wars', true)`;
    const path = await folder.write('any.csv', good);
    expect(await runImport(db, [path], { stated })).toMatchObject({ outcome: 'done', loaded: 1 });
    const wrong = { ...stated, topic: 'War' };
    await expect(runImport(db, [path], { stated: wrong })).rejects.toThrow('did you mean "Wars"?');
  });

  it('is the same rows as CSV, NDJSON and Parquet, packed or not', async ({ folder }) => {
    const ndjson = manyRecords(50);
    const records = ndjson
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    const names = Object.keys(records[0]);
    const csv = [names.join(), ...records.map((record) => names.map((name) => record[name]).join())].join(
      '\n',
    );
    const plain = await folder.write('source.ndjson', ndjson);
    const parquet = join(folder.path, 'records.parquet');
    using duckdb = await openDuckDB('', new AbortController().signal);
    const asCsv = await folder.write('records.csv', csv);
    await duckdb.run(`copy (select * from read_csv('${asCsv}')) to '${parquet}' (format parquet)`);
    const forms = [
      plain,
      parquet,
      asCsv,
      await folder.write('records.csv.gz', csv),
      await folder.write('records.jsonl.gz', ndjson),
      await folder.write('records.zip', await aZip({ 'a/records.csv.gz': gzipSync(csv) })),
      await folder.write(
        'plain.zip',
        await aZip({ 'records.ndjson': Buffer.from(ndjson), 'README.md': Buffer.from('x') }),
      ),
      await folder.write('parquet.zip', await aZip({ 'records.parquet': await readFile(parquet) })),
    ];
    const read: object[][] = [];
    for (const form of forms) {
      await using warehouse = await aWarehouse();
      expect(await runImport(warehouse.db, [form], { stated }), form).toMatchObject({
        outcome: 'done',
        loaded: 1,
      });
      read.push(await rowsIn(warehouse.db, 'headlines'));
    }
    expect(read[0]).toHaveLength(50);
    for (const rows of read) expect(rows).toEqual(read[0]);
  });

  it('is a Parquet file of a writer that does not mark texts as texts', async ({ db, folder }) => {
    const path = join(folder.path, 'old.parquet');
    using duckdb = await openDuckDB('', new AbortController().signal);
    const of = (headline: string) =>
      `select '${id(1)}' as id, '2024-05-01' as publication_time, 0.1 as directional_score, '${headline}'::blob as headline`;
    await duckdb.run(`copy (${of('Caf\\xC3\\xA9')}) to '${path}' (format parquet)`);
    expect(await runImport(db, [path], { stated })).toMatchObject({ outcome: 'done', loaded: 1 });
    expect(await rowsIn(db, 'headlines')).toMatchObject([{ headline: 'Café' }]);

    await duckdb.run(`copy (${of('Caf\\xE9')}) to '${path}' (format parquet)`);
    const { refused } = await runImport(db, [path], { stated });
    expect(refused).toMatchObject([{ why: 'cannot be read: a text is not UTF-8' }]);
  });

  it('is not loaded as a series that its records do not name', async ({ db, folder }) => {
    const record = (n: number, country: string) =>
      JSON.stringify({ id: id(n), country, publication_time: '2024-05-01', directional_score: 0.1 });
    const path = await folder.write('mixed.ndjson', [record(1, 'US'), record(2, 'GB')].join('\n'));
    const us = { ...stated, country: 'US' };
    expect(await runImport(db, [path], { stated: us })).toMatchObject({ covered: { series: 0 } });
    expect(await rowsIn(db, 'headlines')).toMatchObject([{ headline_id: id(1) }]);
    const rows = await sqlIn(db)`select reason from gmsi.rejected_records`;
    expect(rows).toEqual([{ reason: 'names the country GB, not US' }]);
  });

  it('may name the series in its records; then no day counts as covered', async ({ db, folder }) => {
    const record = (n: number, country: string) =>
      JSON.stringify({
        id: id(n),
        country,
        topic_name: 'Wars',
        publication_time: '2024-05-01',
        directional_score: 0.1,
      });
    const path = await folder.write(
      '2024.ndjson',
      [record(1, 'US'), record(2, 'GB'), record(3, 'US')].join('\n'),
    );
    const result = await runImport(db, [path], { stated: { feed: 'gmsi-headlines', matchType: 'COMBINED' } });
    expect(result).toMatchObject({ outcome: 'done', covered: { series: 0 }, withoutDays: 1 });
    const rows = await sqlIn(db)`select country, count(*)::int from gmsi.headlines group by 1 order by 1`;
    expect(rows).toEqual([
      { country: 'GB', count: 1 },
      { country: 'US', count: 2 },
    ]);
  });
});

describe('a broken file', () => {
  it('is refused with its line, and the others go on', async ({ db, folder }) => {
    const packed = gzipSync(manyRecords(3000));
    const files: Record<string, [content: string | Buffer, why: RegExp, line: number | null]> = {
      'cut.ndjson': [manyRecords(3).slice(0, -9), /is not JSON; each line/, 3],
      'cells.csv': [`${good}1,2,3\n`, /has 3 cells, but the header has 5/, 4],
      'wide.csv': [Buffer.from(`\ufeff"a","b"\n${good}`, 'utf16le'), /is not UTF-8/, 1],
      'old.csv': [good.replaceAll('\n', '\r'), /lines end with CR alone/, 1],
      'long.ndjson': [`${manyRecords(2)}{"a":"${'x'.repeat(1_100_000)}"}`, /is longer than 1048576 bytes/, 3],
      'empty.csv': ['', /is empty/, null],
      'export.csv': [
        'headline_id,first_seen_at,is_backfilled,load_id\n',
        /is an export of a warehouse/,
        null,
      ],
      'torn.zip': [Buffer.from('PK\x03\x04, and then nothing more'), /is not a readable ZIP file/, null],
      'away.zip': [await aZip({ 'records.parquet': Buffer.from('PAR1') }), /it is not a Parquet file/, null],
      'no.parquet': [Buffer.from('PAR1 or so'), /it is not a Parquet file/, null],
    };
    for (const [name, [content]] of Object.entries(files)) await folder.write(name, content);
    await writeFile(join(folder.path, 'torn.ndjson.gz'), packed.subarray(0, packed.length / 2));
    await folder.write('good.csv', good);
    for (const name of ['README.txt', '_SUCCESS', '.good.csv.crc']) await folder.write(name, 'no records');

    const result = await runImport(db, [folder.path], { stated });
    expect(result).toMatchObject({
      outcome: 'incomplete',
      loaded: 1,
      ignored: [join(folder.path, 'README.txt')],
    });
    const found = new Map(
      result.refused.map(({ name, line, why }) => [
        name.slice(folder.path.length + 1).split('.zip')[0],
        { line, why },
      ]),
    );
    for (const [name, [, why, line]] of Object.entries(files)) {
      const refusal = found.get(name.replace('.zip', ''));
      expect(refusal?.why, name).toMatch(why);
      expect(refusal?.line, name).toBe(line);
    }
    expect(found.get('torn.ndjson.gz')?.why).toMatch(/cannot be read: unexpected end of file/);
    expect(found.size).toBe(11);
    const rows = await sqlIn(db)<{ name: string; error: string }>`
      select name, error from gmsi.imported_files where name like '%cells.csv'`;
    expect(rows[0]!.error).toBe('line 4: has 3 cells, but the header has 5');
    const loads = await sqlIn(db)`select command, outcome from gmsi.loads`;
    expect(loads).toEqual([{ command: 'import', outcome: 'incomplete' }]);
  });

  it('nor do days of which a part is missing: a match type needs all its parts', async ({ db, folder }) => {
    const setting = {
      stated: { ticker: 'BZ_COM', matchType: 'COMBINED' },
      days: { from: '2024-01-01', to: '2024-01-31' },
    };
    const record = { publication_time: '2024-01-01T10:00:00', sentiment_score: 0.5 };
    const write = (part: string, n: number) =>
      folder.write(`match_type=${part}/records.ndjson`, JSON.stringify({ id: id(n), ...record }));
    await write('EXPLICIT', 1);
    expect(await runImport(db, [folder.path], setting)).toMatchObject({ loaded: 1, covered: { days: 0 } });
    await write('IMPLICIT', 2);
    expect(await runImport(db, [folder.path], setting)).toMatchObject({ loaded: 1, covered: { days: 31 } });
    const rows = await sqlIn(db)`
      select match_type, record_match_type from gmsi.ticker_headlines order by 2`;
    expect(rows).toEqual([
      { match_type: 'COMBINED', record_match_type: 'EXPLICIT' },
      { match_type: 'COMBINED', record_match_type: 'IMPLICIT' },
    ]);
  });

  it('in a ZIP file is noticed by its checksum, or by a path out of it', async ({ db, folder }) => {
    const stored = new ZipFile();
    stored.addBuffer(Buffer.from(good), 'stored.csv', { compress: false });
    stored.end();
    const bytes = await buffer(stored.outputStream as Readable);
    bytes.write('Uno', bytes.indexOf(',One,') + 1);
    const changed = await folder.write('changed.zip', bytes);
    const away = await aZip({ 'aa/evil.csv': Buffer.from(good) });
    for (let at = away.indexOf('aa/'); at >= 0; at = away.indexOf('aa/')) away.write('../', at);
    const evil = await folder.write('evil.zip', away);
    const first = await folder.write('good.csv', good);
    const { refused } = await runImport(db, [changed, evil, first], { stated });
    expect(refused.map(({ why }) => why)).toEqual([
      expect.stringMatching(/is not a readable ZIP file: invalid relative path/),
      expect.stringMatching(/its checksum \(CRC-32\) is wrong/),
    ]);
    expect((await readdir(folder.path)).sort()).toEqual(['changed.zip', 'evil.zip', 'good.csv']);
  });
});

describe('an import that ends early', () => {
  it('goes on after its last batch: nothing is lost or doubled', async ({ db, folder }) => {
    const path = await folder.write('many.ndjson.gz', manyRecords(3000));
    const stop = new AbortController();
    const onProgress = ({ records }: { records: number }) => {
      if (records > 0) stop.abort();
    };
    const first = await runImport(db, [path], { stated, stop: stop.signal, onProgress });
    expect(first.outcome).toBe('interrupted');
    const loads = await sqlIn(db)`select outcome from gmsi.loads`;
    expect(loads).toEqual([{ outcome: 'interrupted' }]);
    const before = first.loads[0]!.totals.records;
    expect(before).toBeGreaterThan(0);
    expect(before).toBeLessThan(3000);
    const rerun = await runImport(db, [path], { stated });
    expect(rerun).toMatchObject({ outcome: 'done', loaded: 1 });
    expect(rerun.loads[0]!.totals).toMatchObject({ records: 3000 - before, rows_inserted: 3000 - before });
    expect(await rowsIn(db, 'headlines')).toHaveLength(3000);
  });

  it.for(['first', 'second'])(
    'drops a batch of a file that was taken by the %s try to commit',
    async (which, { db, folder }) => {
      await listed(db, 'another', 'import');
      await sqlIn(db)`
        create function gmsi.take_over() returns trigger language plpgsql as $$
        begin update gmsi.imported_files set process_id = 'another'; return null; end $$;
        create trigger take_over after insert on gmsi.imported_files for each row execute function gmsi.take_over()`;
      if (which === 'second') await breakAt(db, undefined, 1);
      const path = await folder.write('many.ndjson', manyRecords(100));
      const { log, lines } = aLog();
      const running = runImport(db, [path], { stated, log });
      await expect
        .poll(() => lines.map(({ msg }) => msg))
        .toContainEqual(expect.stringMatching(/^another import/));
      expect(await rowsIn(db, 'headlines')).toEqual([]);
      await sqlIn(db)`
        update gmsi.processes set heartbeat_at = now() - interval '1 hour' where process_id = 'another'`;
      expect(await running).toMatchObject({ outcome: 'done', loaded: 1 });
      expect(await rowsIn(db, 'headlines')).toHaveLength(100);
    },
  );

  it('leaves the files of a living import to it, and is done when that is', async ({ db, folder }) => {
    const path = await folder.write('many.ndjson', manyRecords(2500));
    let second: Promise<ImportResult> | undefined;
    const onProgress = ({ records }: { records: number }) => {
      if (records > 0) second ??= runImport(db, [path], { stated });
    };
    const first = await runImport(db, [path], { stated, onProgress });
    expect(first).toMatchObject({ outcome: 'done', loaded: 1, refused: [] });
    expect(await second).toMatchObject({ outcome: 'done', loaded: 0, loadedBefore: 1, refused: [] });
    expect(await rowsIn(db, 'headlines')).toHaveLength(2500);
    const rows = await sqlIn(db)`select records, rows_inserted from gmsi.imported_files`;
    expect(rows).toEqual([{ records: 2500, rows_inserted: 2500 }]);
  });

  /** Runs SQL once, in the transaction that brings a file to a record: the warehouse goes back in time right after it. */
  async function afterRecord(db: Warehouse, record: number, statements: string): Promise<void> {
    await sqlIn(db)`
        create sequence gmsi.gone_back;
        create function gmsi.go_back() returns trigger language plpgsql as $$
        begin if nextval('gmsi.gone_back') = 1 then ${sql.raw(statements)} end if; return null; end $$;
        create trigger go_back after update of records on gmsi.imported_files for each row
          when (new.records = ${sql.lit(record)}) execute function gmsi.go_back()`;
  }

  it('reads on from where the file is if its last batches are lost', async ({ db, folder }) => {
    const path = await folder.write('many.ndjson', manyRecords(3500));
    await afterRecord(
      db,
      2000,
      `update gmsi.imported_files set records = 1000;
       delete from gmsi.headlines where published_at >= '2024-01-01Z'::timestamptz + interval '1000 minutes';`,
    );
    expect(await runImport(db, [path], { stated })).toMatchObject({ outcome: 'done', loaded: 1 });
    expect(await rowsIn(db, 'headlines')).toHaveLength(3500);
  });

  it('is not called done if the warehouse has gone back to before it', async ({ db, folder }) => {
    const path = await folder.write('many.ndjson', manyRecords(3500));
    await afterRecord(
      db,
      2000,
      'delete from gmsi.imported_files; delete from gmsi.loads; delete from gmsi.headlines;',
    );
    await expect(runImport(db, [path], { stated })).rejects.toThrow(/does not list this load/);
    expect(await rowsIn(db, 'headlines')).toEqual([]);
    expect(await runImport(db, [path], { stated })).toMatchObject({ outcome: 'done', loaded: 1 });
    expect(await rowsIn(db, 'headlines')).toHaveLength(3500);
  });
});

it.for([
  ['clock', { clock: () => new Date('2024-01-10T12:00:00Z') }],
  ["database's clock", { databaseClock: async () => new Date('2024-01-10T12:00:00Z') }],
] as const)('covers no day that by the %s alone is not settled', async ([_, behind], { db, folder }) => {
  const path = await folder.write('many.ndjson', manyRecords(10));
  const days = { from: '2024-01-01', to: '2024-01-31' };
  // The three days before may have changed since.
  expect(await runImport(db, [path], { stated, days, ...behind })).toMatchObject({
    covered: { series: 1, days: 6 },
  });
});
