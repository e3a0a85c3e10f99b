import { Readable } from 'node:stream';
import { stringify } from 'csv-stringify/sync';
import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { catalog } from '../../src/feeds/catalog.ts';
import type { Feed } from '../../src/feeds/feed.ts';
import { gmsiHeadlines } from '../../src/feeds/gmsi-headlines.ts';
import { asSent } from '../../src/feeds/reading/sent-record.ts';
import type { DataFile } from '../../src/import/data-file.ts';
import { readBatches } from '../../src/import/read-records.ts';
import { parseJson } from '../../src/service/json.ts';

function aFile(csv: string | Buffer): DataFile {
  const bytes = Buffer.from(csv);
  const open = async () => Readable.from([bytes.subarray(0, 7), bytes.subarray(7)]);
  return { format: 'csv', bytes: bytes.length, isGzipped: false, open } as unknown as DataFile;
}

const stop = new AbortController().signal;

const reading = {
  feed: gmsiHeadlines as Feed,
  columns: {},
  skip: 0,
  duckdb: undefined,
  onBytes: () => {},
  stop,
};

interface Read {
  readonly records: unknown[];
  readonly why?: string;
  readonly line?: number;
}

/** The records of a CSV file as a page would have them, and why it was refused, if it was. */
async function read(csv: string | Buffer, columns: Record<string, string> = {}, skip = 0): Promise<Read> {
  const records: unknown[] = [];
  try {
    for await (const batch of readBatches(aFile(csv), { ...reading, columns, skip }))
      records.push(...batch.records.map(asSent));
    return { records };
  } catch (error) {
    const { message: why, line } = error as { message: string; line?: number };
    return { records, why, ...(line !== undefined && { line }) };
  }
}

/** What JSON has in a cell's place, in a column that is no text: itself, if it can be written no other way. */
function asJson(cell: string): unknown {
  if (cell === '') return null;
  if (/^-?\d/.test(cell)) return String(Number(cell)) === cell ? parseJson(cell) : cell;
  if (!/^([[{]|true$|false$)/.test(cell)) return cell;
  try {
    return parseJson(cell);
  } catch {
    return cell;
  }
}

const quoted = 'a quote is not closed, or does not end where its cell ends';

describe('a CSV file', () => {
  it('becomes what a page would have, whatever is in its cells and however its lines end', async () => {
    const strange = fc.string({
      unit: fc.constantFrom(...'a,"\\\n\r\u0001\u0000\t;\u007fé😀 \'#', '\r\n'),
      maxLength: 8,
    });
    const alike = fc.string({ unit: fc.constantFrom('0', '1', '9', '.', '-', 'e', '+'), maxLength: 8 });
    const plain = fc.oneof(fc.double(), fc.integer(), fc.maxSafeInteger(), fc.bigInt()).map(String);
    const edge = fc.constantFrom(2 ** 53, -(2 ** 53), 2 ** 53 - 1, 1e21).map(String);
    const word = fc.constantFrom(
      '',
      ...'true false null NULL NaN -Infinity 1e21 1e-7 0.000001 -0 0.50'.split(' '),
    );
    const cell = fc.oneof(strange, alike, fc.json({ maxDepth: 2 }), plain, edge, word);
    const rows = fc.array(fc.tuple(cell, cell, cell), { minLength: 1, maxLength: 40 });
    const names = fc.constantFrom('other', 'an "other"', 'an\nother', 'an, other', 'constructor');
    const end = fc.constantFrom('\n', '\r\n');
    await fc.assert(
      fc.asyncProperty(
        rows,
        names,
        end,
        fc.constantFrom(',', ';', '\t'),
        fc.boolean(),
        async (cells, name, record_delimiter, delimiter, bom) => {
          // The first cell is never empty, or a record could be an empty line; and no comma may be in a header of other delimiters.
          const other = delimiter === ',' ? name : name.replace(',', '');
          const filled = cells.map(([headline, ...rest]) => [headline || 'x', ...rest] as const);
          const csv = stringify([['headline', 'topic_probability', other], ...filled], {
            record_delimiter,
            delimiter,
            bom,
            quoted_match: /[\r\n]/,
          });
          const { records, ...refused } = await read(csv, { [other]: 'a "folder"', third: 'and\\another' });
          expect(refused).toEqual({});
          expect(records).toEqual(
            filled.map(([headline, score, last]) => ({
              headline,
              topic_probability: asJson(score),
              third: 'and\\another',
              [other]: last === '' ? 'a "folder"' : asJson(last),
            })),
          );
        },
      ),
      { numRuns: 100 },
    );
  });

  it('is read from where a load has stopped, without its header in between and its nameless columns', async () => {
    const csv = 'id,,"a,b"\na,1,1\nb,2,2\nid,,"a,b"\n"c\nd",3,\n';
    expect(await read(csv, {}, 1)).toEqual({
      records: [
        { id: 'b', 'a,b': 2 },
        { id: 'c\nd', 'a,b': null },
      ],
    });
  });

  test.each([
    ['has a name that is not UTF-8', Buffer.from('id,"a\n\xe9"\n', 'latin1'), 'is not UTF-8', 1],
    ['has a name that no record can have', '__proto__,b\n1,2\n', 'has a column "__proto__"', 1],
    ['has very many columns', `${[...Array(2000).keys()].join()}\n`, 'has more than 1000 columns', 1],
    ['ends its header in a quote', '"a,b\n1,2\n', quoted, 1],
  ])('that %s is refused, with the line', async (_what, csv, why, line) => {
    expect(await read(csv)).toEqual({ records: [], why, line });
  });

  test.each([
    [
      'cells, but the header has',
      'a,b\n1,2\n"x\ny",4,5\n6\n7,8\n',
      'has 3 cells, but the header has 2; in total, 2 records cannot be read',
      3,
      2,
    ],
    ['a cell after which something follows', 'a,b\n1,2\n"1"x,2\n7,8\n', quoted, 3, 1],
    ['a quote that is never closed', 'a,b\n1,2\n7,8\n"3,4\n5,6\n', quoted, 4, 2],
    ['bytes that are not UTF-8', Buffer.from('a,b\n1,2\n3,\xe9\n7,8\n', 'latin1'), 'is not UTF-8', 3, 1],
  ])('with %s is read as far as certain, and refused', async (_what, csv, why, line, many) => {
    const { records, ...refused } = await read(csv);
    expect(refused).toEqual({ why, line });
    expect(records).toHaveLength(many);
  });

  test.each([
    ['LF and then CRLF', 'a,b\n1,2\r\n3,4\r\n'],
    ['CRLF and then LF', 'a,b\r\n1,2\n3,4\n'],
    ['a CR within a cell without quotes', 'a,b\n1,x\ry\n3,4\n'],
  ])('whose lines end in %s is refused rather than read in part', async (_what, csv) => {
    expect((await read(csv)).why).toMatch(/its line ends are mixed/);
  });

  it('keeps a quote within a cell that is not quoted, as it stands there', async () => {
    expect(await read('a,b\n1,2"x\n3,4\n')).toEqual({
      records: [
        { a: 1, b: '2"x' },
        { a: 3, b: 4 },
      ],
    });
  });
});

it('has one name for a column, however it is written, and may have another header in the middle', async () => {
  const mark = '\ufeff';
  const header = `\u00a0id,${'clé'.normalize('NFD')}, headline\u00a0`;
  const file = `${mark}${header}\n1,a,One\n${mark}${header}\n2,b,Two\n`;
  expect(await read(file)).toEqual({
    records: [
      { id: '1', clé: 'a', headline: 'One' },
      { id: '2', clé: 'b', headline: 'Two' },
    ],
  });
  expect(await read('source,source\u00a0\na,b\n')).toMatchObject({ why: 'has the column "source" twice' });
});

describe.each([...catalog.values()])('a record of $name', (feed) => {
  const right = {
    text: fc.constantFrom('a', '7', 'true', '1e3', 'é\0', '[1]'),
    uuid: fc.constantFrom('0A000000-0000-4000-8000-000000000001', 'n1'),
    timestamptz: fc.constantFrom('2026-05-21T13:00:00', '2026-05-21 13:00:00.25+02'),
    'double precision': fc.constantFrom(0.5, '0.50', 3, '-1e-7'),
    bigint: fc.constantFrom(4, '4', '9007199254740993'),
    jsonb: fc.constant(null),
  };
  const odd = fc.constantFrom(null, '', 'NaN', 'n/a', true, { of: 3, name: 'x' });
  const values = Object.entries(feed.fields).map(([column, names]) =>
    fc.tuple(
      fc.oneof({ weight: 19, arbitrary: fc.constant(names[0]!) }, fc.constantFrom(...names)),
      fc.oneof({ weight: 19, arbitrary: right[feed.table.columns[column]!] }, odd),
    ),
  );
  const others = fc.dictionary(fc.constantFrom('other', 'another'), fc.oneof(fc.json().map(parseJson), odd));
  const record = fc.tuple(fc.tuple(...values), others).map(([fields, more]) => {
    const sent: Record<string, unknown> = { ...more };
    for (const [name, value] of fields) {
      const [outer, inner] = name.split('.') as [string, string?];
      sent[outer] = inner === undefined ? value : { [inner]: value, rest: 1 };
    }
    return sent;
  });

  it('is the same row from a file as from a page, and if no layout is left for it', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(record, { minLength: 1, maxLength: 3 }), async (sent) => {
        const columns = [...new Set(sent.flatMap((one) => Object.keys(one)))];
        const csv = stringify(sent, { header: true, columns, cast: { boolean: String } });
        const [ofFile, ofPage, mixed] = [feed.reader(), feed.reader(), feed.reader()];
        for (let form = 0; form < 8; form++) mixed.read({ [`form ${form}`]: 1 });
        for await (const { records } of readBatches(aFile(csv), { ...reading, feed })) {
          for (const one of records) {
            const row = mixed.read(asSent(one));
            expect(ofFile.read(one)).toEqual(row);
            expect(ofPage.read(asSent(one))).toEqual(row);
          }
          const seen = Object.fromEntries(mixed.fieldsSeen);
          for (const { fieldsSeen } of [ofFile, ofPage])
            expect(seen).toMatchObject(Object.fromEntries(fieldsSeen));
        }
      }),
      { numRuns: 100 },
    );
  });
});
