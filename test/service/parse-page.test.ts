import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { PageTooLarge } from '../../src/service/errors.ts';
import { JsonScan } from '../../src/service/json-scan.ts';
import { NotJson, parseBody } from '../../src/service/parse-body.ts';
import { parseAnything, parsePage, RecordTooLarge, standsForLarger } from '../../src/service/parse-page.ts';

const bodyOf = (text: string) => Buffer.from(text);

/** A page as it would be parsed in one go, records that are read one by one as an array. */
function read(text: string, maxRecordBytes: number): unknown {
  const page = parsePage(bodyOf(text), maxRecordBytes);
  if (Array.isArray(page) || typeof page !== 'object' || page === null) return page;
  if (Symbol.iterator in page) return [...(page as Iterable<unknown>)];
  const { data, ...rest } = page as { data?: unknown };
  if (typeof data !== 'object' || data === null || !(Symbol.iterator in data)) return page;
  return { ...rest, data: [...(data as Iterable<unknown>)] };
}

const { has_more, next_token } = { has_more: true, next_token: 'A' };
const small = { a: [1, { b: ']"}' }] };
const large = { text: `"${'x'.repeat(2000)}` };

describe('parsePage', () => {
  test('puts what a record was in the place of one that is too large, and reads the others', () => {
    const text = JSON.stringify({ has_more, data: [small, large, small], next_token });
    expect(read(text, 1500)).toEqual({
      has_more,
      next_token,
      data: [small, expect.any(RecordTooLarge), small],
    });
    const [, too] = (read(text, 1500) as { data: RecordTooLarge[] }).data;
    const json = JSON.stringify(large);
    expect(too).toEqual({
      digest: `sha256:${createHash('sha256').update(json).digest('hex')}`,
      ...{ bytes: json.length, values: 2, begins: json.slice(0, 300) },
    });
    expect(standsForLarger(JSON.parse(JSON.stringify(too)))).toBe(true);
  });

  test('measures a record in bytes, not in characters', () => {
    const record = '€'.repeat(400);
    expect(read(JSON.stringify([record]), 1202)).toEqual([record]);
    expect(read(JSON.stringify([record]), 1201)).toEqual([expect.any(RecordTooLarge)]);
  });

  test('takes a record of very many values for too large, however short it is', () => {
    const few = { list: Array.from({ length: 900 }, () => ({})) };
    const many = { list: Array.from({ length: 1100 }, () => ({})) };
    const deep = JSON.parse(`${'['.repeat(2000)}${']'.repeat(2000)}`);
    expect(read(JSON.stringify({ data: [few, many, deep], has_more }), 100_000)).toEqual({
      has_more,
      data: [few, expect.any(RecordTooLarge), expect.any(RecordTooLarge)],
    });
  });

  test('takes the last of several members by one name, whatever comes between, and no other members', () => {
    const filler = 'x'.repeat(1000);
    const text = ` { "data" : [1], "x":{"data":[2],"y":"${filler}"}, "d\\u0061ta" :\n[ 3 , {"z":4} ] , "has_more":true }`;
    expect(read(text, 500)).toEqual({ data: [3, { z: 4 }], has_more: true });
    const none = `{"data":[1],"data":null,"has_more":false,"x":"${filler}"}`;
    expect(read(none, 500)).toEqual({ data: null, has_more: false });
  });

  test('takes the last of as many members as a body holds', () => {
    const text = `{${'"data":[],'.repeat(500_000)}"data":[5],"has_more":false}`;
    expect(read(text, 500)).toEqual({ data: [5], has_more: false });
  });

  test('reads any page as JSON.parse does if nothing is too large, and accepts nothing that is not JSON', () => {
    const record = fc.oneof(
      // Long integers are read as text, to the last digit.
      fc.jsonValue().filter((value) => !/\d{16}/.test(JSON.stringify(value))),
      fc.string().map((text) => ({ [text]: text })),
    );
    const page = fc.record({ data: fc.array(record), has_more: fc.boolean(), next_token: fc.string() });
    const spaced = fc.tuple(fc.oneof(page, fc.array(record)), fc.constantFrom(undefined, 1, '\t'));
    fc.assert(
      fc.property(spaced, fc.integer({ min: 1, max: 400 }), fc.nat(), ([value, indent], most, at) => {
        const text = JSON.stringify(value, null, indent);
        const whole = JSON.parse(text);
        const readOne = (record: unknown, index: number, all: unknown) => {
          const sent = Array.isArray(whole) ? whole[index] : whole.data[index];
          if (!(record instanceof RecordTooLarge)) expect(record).toEqual(sent);
          return all;
        };
        const result = read(text, most) as { data: unknown[] } | unknown[];
        const records = Array.isArray(result) ? result : result.data;
        expect(records).toHaveLength((Array.isArray(whole) ? whole : whole.data).length);
        records.forEach(readOne);
        if (!Array.isArray(result)) {
          expect(result).toMatchObject({ has_more: whole.has_more, next_token: whole.next_token });
        }
        // Cut anywhere, it is no JSON any more, unless nothing but space is cut off.
        const cut = text.slice(0, at % text.length);
        expect(() => read(cut, most)).toThrow(NotJson);
      }),
    );
  });

  test.each([
    '{"data":[1,],"x":0}',
    '[1 2]',
    '{"data":[1]]',
    '{"a":1}}',
    '{"data":[tru]}',
    '{data:[]}',
    '[,1]',
    '["\\x"]',
  ])('says that %s is not JSON', (text) => {
    expect(() => parsePage(bodyOf(text + ' '.repeat(2000)), 1000)).toThrow(NotJson);
  });

  test('gives up a page of more records than any should hold before they are in memory', () => {
    expect(() => parsePage(bodyOf(`[${'0,'.repeat(10_001)}0]`), 1024)).toThrow(PageTooLarge);
  });
});

test('parseAnything gives up what would be many times as large once it is parsed', () => {
  expect(parseAnything(bodyOf(`[${'{},'.repeat(100_000)}{}]`))).toHaveLength(100_001);
  expect(() => parseAnything(bodyOf(`[${'{},'.repeat(300_000)}{}]`))).toThrow(PageTooLarge);
});

test('JsonScan passes over what parseBody parses, and nothing else', () => {
  const text = fc.oneof(
    fc.jsonValue().map((value) => JSON.stringify(value)),
    fc.jsonValue().map((value) => JSON.stringify(value, null, '\t')),
    fc.constantFrom('NaN', '[-Infinity]', '1e5', '-0.5E-3', '"\\u00e9\\n\\/"', ' [ { } , [ ] ] '),
  );
  const part = fc.constantFrom(...'[]{}",:\\ue+-.015ntN \n\t\0x', 'null', '""', '\\u00', 'é');
  const changed = fc
    .tuple(text, fc.array(fc.tuple(fc.nat(), fc.nat(2), part), { maxLength: 3 }))
    .map(([text, changes]) =>
      changes.reduce((before, [at, gone, put]) => {
        const place = at % (before.length + 1);
        return before.slice(0, place) + put + before.slice(place + gone);
      }, text),
    )
    // In place of a name, parseBody would take these tokens for one.
    .filter((text) => !/(?:NaN|Infinity)\s*:/.test(text));
  fc.assert(
    fc.property(changed, (text) => {
      const isPassed = passes(() => {
        const scan = new JsonScan(Buffer.from(text));
        scan.next();
        scan.skipValue();
        scan.expectEnd();
      });
      expect(isPassed).toBe(passes(() => parseBody(text)));
    }),
    { numRuns: 5000 },
  );
});

function passes(attempt: () => void): boolean {
  try {
    attempt();
    return true;
  } catch (error) {
    expect(error).toBeInstanceOf(NotJson);
    return false;
  }
}
