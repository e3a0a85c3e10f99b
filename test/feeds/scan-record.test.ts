import fc from 'fast-check';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { gmsiHeadlines } from '../../src/feeds/gmsi-headlines.ts';
import { type ReadPage, readPage } from '../../src/load/read-page.ts';
import type { Records } from '../../src/service/page.ts';
import { parsePage, type RecordsAsJson } from '../../src/service/parse-page.ts';
import { aWarehouse, type TestWarehouse } from '../support/test-warehouse.ts';

const { table } = gmsiHeadlines;
let warehouse: TestWarehouse;

beforeAll(async () => {
  warehouse = await aWarehouse({ connections: 1 });
});
afterAll(() => warehouse[Symbol.asyncDispose]());

/** A usual record, each value as JSON text. */
const usual: Readonly<Record<string, string>> = {
  id: '"ae78164e-4462-48cc-a99a-a23fb0d92d86"',
  publication_time: '"2026-03-20T21:59:13"',
  topic_name: '"Inflation-Food"',
  headline: '"Prices rise"',
  language: '"en"',
  source: '"A courier"',
  topic_probability: '0.77',
  directional_positive: '0.6451',
  directional_neutral: '0.3040',
  directional_negative: '0.0509',
  semantic_positive: '0.5659',
  semantic_negative: '0.1212',
  relevance_rank: '92',
  entities: '{"places":["Japan","日本"],"category":"economy","count":3}',
};
const json = (values: Readonly<Record<string, string>>) =>
  `{${Object.entries(values)
    .map(([name, value]) => `${JSON.stringify(name)}:${value}`)
    .join()}}`;

/** Reads a page from its bytes, and the same records after they were parsed. */
function read(...records: readonly string[]) {
  // A plan is made from records that are alike.
  const begin = [1, 2, 3].map((n) => json({ ...usual, id: `"00000000-0000-4000-8000-00000000000${n}"` }));
  const text = `{"data":[${[...begin, ...records].join(', ')}],"has_more":false}`;
  const page = parsePage(Buffer.from(text), 100_000) as { data: RecordsAsJson };
  const [scanning, reading] = [gmsiHeadlines.reader(), gmsiHeadlines.reader()];
  let scanned = 0;
  const counted = {
    ...scanning,
    scan: (...of: Parameters<typeof scanning.scan>) => count(scanning.scan(...of)),
  };
  const count = (isScanned: boolean) => {
    if (isScanned) scanned++;
    return isScanned;
  };
  const parsed: Records = [...page.data];
  const results = {
    fromBytes: readPage(page.data, counted, table),
    fromValues: readPage(parsed, reading, table),
  };
  expect([...scanning.fieldsSeen]).toEqual([...reading.fieldsSeen]);
  return { ...results, scanned: scanned - 1 };
}

/** The rows of a page as PostgreSQL holds them; JSON as the text that it shows. */
async function held({ rows }: ReadPage): Promise<unknown[]> {
  const columns = Object.entries(table.columns).map(
    ([column, type], place) =>
      sql`unnest(${rows.columns[place]}::${sql.raw(type)}[])::text as ${sql.ref(column)}`,
  );
  return (await sql`select ${sql.join(columns)}`.execute(warehouse.db)).rows;
}

async function expectTheSame({ fromBytes, fromValues }: ReturnType<typeof read>): Promise<void> {
  expect(fromBytes.rejected).toEqual(fromValues.rejected);
  expect([fromBytes.rows.times, fromBytes.rows.ids]).toEqual([fromValues.rows.times, fromValues.rows.ids]);
  expect(await held(fromBytes)).toEqual(await held(fromValues));
}

describe('a record', () => {
  test.each<[string, Record<string, string>]>([
    ['is as usual', {}],
    ['has no value for a score', { semantic_positive: 'null' }],
    ['has an empty text', { source: '""' }],
    ['has letters beyond ASCII', { headline: '"Überschuß 物価 📈"' }],
    ['has escapes in a text', { headline: '"\\u00dcber \\"this\\" \\ud83d\\udcc8\\n\\\\"' }],
    [
      'has numbers of any form',
      { topic_probability: '-0', directional_positive: '1e-3', semantic_positive: '3' },
    ],
    ['has more digits than a double', { topic_probability: '0.12345678901234567890' }],
    ['has a time with its zone', { publication_time: '"2026-03-20T23:59:13.25+02:00"' }],
    ['has a leap second', { publication_time: '"2026-12-31T23:59:60Z"' }],
    ['has an id in capitals', { id: usual.id!.toUpperCase() }],
  ])('that %s is read from its bytes', async (_, values) => {
    const result = read(json({ ...usual, ...values }));
    expect(result.scanned).toBe(1);
    await expectTheSame(result);
  });

  test('that lacks fields is read from its bytes', async () => {
    const { topic_name, semantic_positive, entities, ...rest } = usual;
    const result = read(json(rest));
    expect(result.scanned).toBe(1);
    await expectTheSame(result);
  });

  test('is read from its bytes after records that are not', async () => {
    const result = read(
      '{}',
      '[1, {}]',
      json({ ...usual, headline: '17' }),
      json({ more: '{"a":[{}]}' }),
      json(usual),
    );
    expect(result.scanned).toBe(1);
    await expectTheSame(result);
  });

  test('is read from its bytes with space around all values', async () => {
    const result = read(json(usual).replace(/[{}[\],]|(?<="):/g, '\n $& \t'));
    expect(result.scanned).toBe(1);
    await expectTheSame(result);
  });

  test.each<[string, string]>([
    ['is no object', '[1]'],
    ['has nothing', '{}'],
    ['has no id', json({ ...usual, id: 'null' })],
    ['has an id that is no UUID', json({ ...usual, id: '"one"' })],
    ['has an id with a dash at another place', json({ ...usual, id: usual.id!.replace('e-4', '-e4') })],
    ['has an id with a letter that is no digit', json({ ...usual, id: usual.id!.replace('e', 'g') })],
    ['has no time', json({ ...usual, publication_time: '""' })],
    ['has a time of no calendar', json({ ...usual, publication_time: '"2026-02-30T00:00:00"' })],
    ['has no score', json({ id: usual.id!, publication_time: usual.publication_time! })],
    ['has a number as text', json({ ...usual, topic_probability: '"0.5"' })],
    ['has an object for a score', json({ ...usual, directional_positive: '{"a":1}' })],
    ['has what is no number', json({ ...usual, topic_probability: 'NaN', semantic_positive: '-Infinity' })],
    ['has a number beyond all', json({ ...usual, topic_probability: '1e999' })],
    ['has a number for a text', json({ ...usual, headline: '17' })],
    ['has another order', json(Object.fromEntries(Object.entries(usual).reverse()))],
    ['has a further field', json({ ...usual, more: '1' })],
    ['has a field twice', json(usual).replace('}}', '},"id":"00000000-0000-4000-8000-000000000009"}')],
    ['writes a name with an escape', json(usual).replace('"id"', '"\\u0069d"')],
    ['has a NUL in a further field', json({ ...usual, entities: '"\\u0000"' })],
    ['has half of a pair in a further field', json({ ...usual, entities: '["\\ud800"]' })],
    ['has a number that is written otherwise', json({ ...usual, relevance_rank: '92.0' })],
    ['has a number with an exponent', json({ ...usual, relevance_rank: '9.2e1' })],
    ['has a long integer', json({ ...usual, relevance_rank: '12345678901234567890' })],
    ['is deep', json({ ...usual, entities: `${'['.repeat(200)}${']'.repeat(200)}` })],
  ])('that %s is parsed', async (_, record) => {
    const result = read(record);
    expect(result.scanned).toBe(0);
    await expectTheSame(result);
  });

  test('is parsed if it comes after more members than a page has', async () => {
    const short = Object.fromEntries(Array.from({ length: 1000 }, (_, n) => [`m${n}`, '0']));
    const result = read(json(short), json(usual));
    expect(result.scanned).toBe(0);
    await expectTheSame(result);
  });

  test.each([
    ['a NUL', '\0'],
    ['half of a pair', '\ud800'],
    ['a quote', '"'],
    ['the name of an object of its own', '__proto__'],
    ['a name of every object', 'constructor'],
    ['no letter', ''],
    ['letters beyond ASCII', 'größe'],
  ])('comes out the same if all records have a field whose name is %s', async (_, name) => {
    const records = [1, 2, 3, 4].map((n) =>
      json({ ...usual, id: `"10000000-0000-4000-8000-00000000000${n}"` }).replace(
        /\}$/,
        `,${JSON.stringify(name)}:{"a":1}}`,
      ),
    );
    await expectTheSame(read(...records));
  });

  const value = fc.oneof(
    { weight: 4, arbitrary: fc.constantFrom(...Object.values(usual)) },
    fc.string({ unit: 'binary' }).map((text) => JSON.stringify(text)),
    fc.string({ unit: 'binary' }).map((text) => JSON.stringify(text).replace(/[^ -~]/g, escaped)),
    fc.jsonValue().map((value) => JSON.stringify(value)),
    fc.double().map((number) => String(number)),
    fc
      .double()
      .map((number) => number.toExponential())
      .filter((text) => !/[IN]/.test(text)),
    fc.integer().map(String),
    fc.bigInt().map(String),
    fc.constantFrom(
      '0.10',
      '-0.0',
      '1.0',
      '0.000000000000001',
      '999999999999999',
      '9999999999999999',
      '1E+2',
    ),
  );
  const name = fc.oneof(fc.constantFrom(...Object.keys(usual)), fc.string());

  test('comes out the same, whatever fields all records have', async () => {
    const names = fc.dictionary(fc.oneof(name, fc.string({ unit: 'binary' })), value, { maxKeys: 6 });
    const alike = names.map((values) =>
      [1, 2, 3, 4].map((n) => json({ ...usual, ...values, id: `"10000000-0000-4000-8000-00000000000${n}"` })),
    );
    await fc.assert(
      fc.asyncProperty(alike, async (records) => {
        await expectTheSame(read(...records));
      }),
      { numRuns: 200 },
    );
  });

  test('comes out the same, however its values are written', async () => {
    const record = fc
      .tuple(fc.dictionary(name, value, { maxKeys: 4 }), fc.subarray(Object.keys(usual), { minLength: 8 }))
      .map(([changes, kept]) =>
        json({ ...Object.fromEntries(kept.map((name) => [name, usual[name]!])), ...changes }),
      );
    const spaced = fc
      .tuple(record, fc.constantFrom('', ' ', '\n\t', '\r\n  '))
      .map(([text, space]) =>
        text.replace(/^\{|\}$|,"(?=\w+":)/g, (part) => `${space}${part}${part.length > 1 ? '' : space}`),
      );
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.oneof(record, spaced), { minLength: 1, maxLength: 5 }),
        async (records) => {
          await expectTheSame(read(...records));
        },
      ),
      { numRuns: 200 },
    );
  });
});

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
