import { Readable } from 'node:stream';
import { stringify } from 'csv-stringify/sync';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { gmsiHeadlines } from '../../../src/feeds/gmsi-headlines.ts';
import type { DataFile } from '../../../src/load/import/data-file.ts';
import { csvBatches } from '../../../src/load/import/read-csv.ts';
import { readPage } from '../../../src/load/read-page.ts';
import { JsonScan } from '../../../src/service/json-scan.ts';
import { parseBody } from '../../../src/service/parse-body.ts';
import type { RecordsAsJson } from '../../../src/service/parse-page.ts';
import type { SortedRows } from '../../../src/warehouse/arrays.ts';

function aFile(csv: string | Buffer): DataFile {
  const bytes = typeof csv === 'string' ? Buffer.from(csv) : csv;
  return { bytes: bytes.length, isGzipped: false, open: async () => Readable.from([bytes]) } as DataFile;
}

function readingOf(columns: Record<string, string> = {}, skip = 0) {
  return { feed: gmsiHeadlines, columns, skip, onBytes: () => {}, stop: new AbortController().signal };
}

/** The records of a CSV file as a page would have them, with the line of each. */
async function read(csv: string | Buffer, columns?: Record<string, string>, skip?: number) {
  const records: unknown[] = [];
  const lines: number[] = [];
  for await (const batch of csvBatches(aFile(csv), readingOf(columns, skip))) {
    records.push(...batch.records);
    lines.push(...batch.lines);
    expectSameEnds(batch.records as RecordsAsJson);
  }
  return { records, lines };
}

/** What PostgreSQL gets: of `extra` the values, since equal ones can be written in several ways. */
function columnsOf({ columns }: SortedRows): unknown[] {
  const extra = Object.keys(gmsiHeadlines.table.columns).indexOf('extra');
  return columns.map((column, place) => (place === extra ? valuesOf(column) : column));
}

/** The elements of an array in PostgreSQL's binary format, each the number 1 and JSON. */
function valuesOf(array: Buffer): unknown[] {
  const values: unknown[] = [];
  for (let at = 20; at < array.length; ) {
    const length = array.readInt32BE(at);
    values.push(length === -1 ? null : JSON.parse(array.toString('utf8', at + 5, at + 4 + length)));
    at += 4 + Math.max(length, 0);
  }
  return values;
}

/** Expects the ends of members that whoever passes over the JSON finds. */
function expectSameEnds(records: RecordsAsJson): void {
  const scan = new JsonScan(records.content);
  const ends = new Int32Array(200_000);
  let noted = 0;
  for (let index = 0; index < records.length; index++) {
    scan.at = records.startOf(index);
    noted = scan.skipValue(ends, noted);
  }
  expect(records.ends.subarray(0, noted)).toEqual(ends.subarray(0, noted));
}

/** What JSON has in a cell's place, in a column that is no text: itself, if it can be written no other way. */
function asJson(cell: string): unknown {
  if (/^-?\d/.test(cell)) return String(Number(cell)) === cell ? parseBody(cell) : cell;
  if (!/^([[{]|true$|false$)/.test(cell)) return cell;
  try {
    return parseBody(cell);
  } catch {
    return cell;
  }
}

/** The same in a column of numbers, where zeros at the end of one do not count. */
function asNumber(cell: string): unknown {
  const isDecimal = /^-?(0|[1-9]\d*)\.\d+$/.test(cell) && cell.length <= 15;
  return isDecimal ? Number(cell) : asJson(cell);
}

describe('a CSV file', () => {
  it('becomes what a page would have, whatever is in its cells', async () => {
    const strange = fc.string({
      unit: fc.constantFrom('a', ',', '"', '\\', '\n', '\u0001', '\t', '\u007f', 'é', '😀', ' '),
      maxLength: 8,
    });
    const alike = fc.string({ unit: fc.constantFrom('0', '1', '9', '.', '-', 'e', '+'), maxLength: 8 });
    const json = fc.json({ maxDepth: 2 });
    const fixed = fc.tuple(fc.integer({ min: -99, max: 99 }), fc.nat(8)).map(([n, d]) => (n / 10).toFixed(d));
    const plain = fc.oneof(fc.double(), fc.integer(), fc.maxSafeInteger(), fc.bigInt()).map(String);
    const number = fc.oneof(fixed, plain);
    const word = fc.constantFrom(
      '',
      'true',
      'false',
      'null',
      'NaN',
      '-Infinity',
      '1e21',
      '1e-7',
      '0.000001',
      '-0',
    );
    const cell = fc.oneof(strange, alike, json, number, word);
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(cell, cell, cell), { minLength: 1, maxLength: 5 }), async (rows) => {
        const header = ['headline', 'topic_probability', 'other'];
        const csv = stringify([header, ...rows], { quoted_match: /[\r\n]/ });
        const { records } = await read(csv, { other: 'a "folder"', third: 'and\\another' });
        expect(records).toEqual(
          rows.map(([headline, score, other]) => ({
            headline: headline || null,
            topic_probability: score === '' ? null : asNumber(score),
            other: other === '' ? 'a "folder"' : asJson(other),
            third: 'and\\another',
          })),
        );
      }),
      { numRuns: 500 },
    );
  });

  it('becomes the same rows by its bytes and record by record', async () => {
    const text = fc.string({
      unit: fc.constantFrom('a', '"', '\\', '\n', '\u0001', 'é', '😀'),
      maxLength: 6,
    });
    const json = fc.oneof(
      fc.json({ maxDepth: 2 }),
      fc.constantFrom('', '{"a":1} ', '[NaN]', '["\\n"]', '[1'),
    );
    const score = fc.constantFrom('', '0.5', '-0.25', '1.0', '0.1234567890123456', '1e-7', '12', 'high');
    const time = fc.constantFrom('2024-05-01T10:00:00', '2024-05-01 10:00:00.25+02:00', '2024-02-30', '');
    const id = fc.oneof(
      { weight: 9, arbitrary: fc.uuid() },
      { weight: 1, arbitrary: fc.constantFrom('', '7') },
    );
    const rows = fc.array(fc.tuple(id, time, text, score, json), { minLength: 5, maxLength: 30 });
    let scanned = 0;
    await fc.assert(
      fc.asyncProperty(rows, async (cells) => {
        const reader = gmsiHeadlines.reader();
        const counting = {
          ...reader,
          scan: (...record: Parameters<typeof reader.scan>) => {
            const isScanned = reader.scan(...record);
            scanned += Number(isScanned);
            return isScanned;
          },
        };
        const usual = ['7d444840-9dc0-11d1-b245-5ffdce74fad2', '2024-05-01T10:00:00', 'text', '0.5', '[]'];
        const header = ['id', 'publication_time', 'headline', 'directional_positive', 'other'];
        const csv = stringify([header, usual, usual, usual, ...cells], { quoted_match: /[\r\n]/ });
        const { table } = gmsiHeadlines;
        for await (const { records } of csvBatches(aFile(csv), readingOf({ topic_name: 'Inflation-Food' }))) {
          const objects = readPage([...records], gmsiHeadlines.reader(), table);
          const { rows, rejected } = readPage(records, counting, table);
          expect(columnsOf(rows)).toEqual(columnsOf(objects.rows));
          expect(rejected).toEqual(objects.rejected);
        }
      }),
    );
    // Of some 1,800 that were made up, about 300.
    expect(scanned).toBeGreaterThan(100);
  });

  it('is read from where a load has stopped, without its header in between and its nameless columns', async () => {
    const csv = 'id,,"a,b"\na,1,1\nb,2,2\nid,,"a,b"\n"c\nd",3,\n';
    expect(await read(csv, {}, 1)).toEqual({
      records: [
        { id: 'b', 'a,b': 2 },
        { id: 'c\nd', 'a,b': null },
      ],
      lines: [3, 5],
    });
  });

  it('is refused if a name in its header is not UTF-8, on whichever line of it', async () => {
    for (const header of ['id,\xe9\n', 'id,"a\n\xe9"\n'])
      await expect(read(Buffer.from(header, 'latin1'))).rejects.toMatchObject({
        message: 'is not UTF-8',
        line: 1,
      });
  });

  it('may have columns and folders of any name', async () => {
    const { records } = await read('constructor,toString\na,\n', { valueOf: 'c' });
    expect(records).toEqual([{ constructor: 'a', toString: null, valueOf: 'c' }]);
  });

  it('is no way to ask for gigabytes: records of very many columns', async () => {
    const names = Array.from({ length: 100_000 }, (_, n) => n.toString(36));
    const before = process.memoryUsage().arrayBuffers;
    const { records } = await read(`${names.join(',')}\n${'1,'.repeat(names.length - 1)}1\n`);
    expect(Object.keys(records[0] as object)).toHaveLength(names.length);
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(100e6);
  });
});
