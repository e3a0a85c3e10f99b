import { Readable } from 'node:stream';
import { stringify } from 'csv-stringify/sync';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { gmsiHeadlines } from '../../../src/feeds/gmsi-headlines.ts';
import type { DataFile } from '../../../src/load/import/data-file.ts';
import { csvBatches } from '../../../src/load/import/read-csv.ts';
import { parseJson } from '../../../src/service/json.ts';

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
  }
  return { records, lines };
}

/** What JSON has in a cell's place, in a column that is no text: itself, if it can be written no other way. */
function asJson(cell: string): unknown {
  if (/^-?\d/.test(cell)) return String(Number(cell)) === cell ? parseJson(cell) : cell;
  if (!/^([[{]|true$|false$)/.test(cell)) return cell;
  try {
    return parseJson(cell);
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
