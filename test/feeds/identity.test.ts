import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { gmsiHeadlines } from '../../src/feeds/gmsi-headlines.ts';
import { aRecord, without } from './a-record.ts';

function idOf(record: Record<string, unknown>): unknown {
  return gmsiHeadlines.reader().read(record).row?.headline_id;
}

function extraOf(record: Record<string, unknown>): unknown {
  return gmsiHeadlines.reader().read(record).row?.extra;
}

const aTextRecord = (changes = {}) => without(aRecord(changes), 'id');
const aBareRecord = (changes = {}) => aRecord({ id: null, headline: null, ...changes });

/** Content for a record that has neither an id nor a text. */
const content = fc.dictionary(
  fc.constantFrom('a', 'b', '__proto__', '10', '9', 'a b'),
  fc.jsonValue({ maxDepth: 3 }),
);

test('a record has the same identity in every release, because rows already loaded are found by it', () => {
  expect(idOf(aRecord({ id: 'art-17' }))).toBe('877b7205-ea08-84f9-a3b1-1a07f1b7c4e5');
  expect(idOf(aTextRecord())).toBe('5044dc65-b6b1-8faf-8904-8e71d8061ab2');
  expect(idOf(aBareRecord())).toBe('2be7fb44-3293-8c0a-be9e-6a6daf4d4426');
});

describe('a record with an id', () => {
  test('is known by it as it is, if it is a UUID', () => {
    expect(idOf(aRecord())).toBe('0a1b2c3d-0000-4000-8000-00000000000f');
    expect(extraOf(aRecord())).toBeNull();
  });

  test.each([['art-17'], [17], ['0a1b2c3d00004000800000000000000f'], ['9007199254740993']])(
    'is known by a UUID made from it where it is none, such as %j, and keeps it in extra',
    (id) => {
      expect(idOf(aRecord({ id }))).toMatch(
        /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
      );
      expect(extraOf(aRecord({ id }))).toBe(JSON.stringify({ id }));
    },
  );

  test('is the same whether the id is sent as a number or as its digits', () => {
    expect(idOf(aRecord({ id: 17 }))).toBe(idOf(aRecord({ id: '17' })));
  });

  test('keeps its identity whatever else of it changes', () => {
    const changed = aRecord({ headline: 'Another', directional_positive: 0, source: null, new_field: 1 });
    expect(idOf(changed)).toBe(idOf(aRecord()));
  });

  test('can have it under a name that a user gives', () => {
    const reader = gmsiHeadlines.reader({ headline_id: ['meta.key'] });
    const key = '11111111-2222-4333-8444-555555555555';
    expect(reader.read(aRecord({ meta: { key } })).row).toMatchObject({
      headline_id: key,
      extra: JSON.stringify({ id: aRecord().id }),
    });
  });

  test('has none if the id is no id', () => {
    expect(idOf(aRecord({ id: { $oid: 'a' } }))).toBe(idOf(aTextRecord()));
    expect(idOf(aRecord({ id: '' }))).toBe(idOf(aTextRecord()));
  });
});

describe('a record with a text but no id', () => {
  test('keeps its identity when scores change, fields are added or the time gets a zone', () => {
    const same = aTextRecord({
      directional_positive: 0,
      added: 1,
      publication_time: '2026-05-21T15:00:00+02:00',
    });
    expect(idOf(same)).toBe(idOf(aTextRecord()));
  });

  test.each([
    ['time', { publication_time: '2026-05-21T13:00:00.000001' }],
    ['text', { headline: 'Food prices ease.' }],
    ['source', { source: 'AFP' }],
    ['language', { language: null }],
  ])('is another one with another %s', (_what, change) => {
    expect(idOf(aTextRecord(change))).not.toBe(idOf(aTextRecord()));
  });

  test('is never taken for another by how text, source and language run together', () => {
    const part = fc.string({ unit: fc.constantFrom('a', '"', ',', '\\', ' ') });
    fc.assert(
      fc.property(fc.tuple(part, part, part), fc.tuple(part, part, part), (left, right) => {
        const [one, other] = [left, right].map(([headline, source, language]) =>
          idOf(aTextRecord({ headline: `x${headline}`, source, language })),
        );
        expect(one === other).toBe(JSON.stringify(left) === JSON.stringify(right));
      }),
    );
  });
});

describe('a record with neither', () => {
  test('keeps its identity when its keys come in another order, however deep', () => {
    fc.assert(
      fc.property(content, (added) => {
        const record = { ...aBareRecord(), added };
        expect(idOf(reversed(record) as Record<string, unknown>)).toBe(idOf(record));
      }),
    );
  });

  test('is another one with any other content', () => {
    fc.assert(
      fc.property(content, content, (left, right) => {
        const same = canonicalText(left) === canonicalText(right);
        expect(idOf(aBareRecord({ added: left })) === idOf(aBareRecord({ added: right }))).toBe(same);
      }),
    );
  });

  test('is another one with a number beyond all, with none, and with the text that is kept for it', () => {
    const values = [JSON.parse('1e999'), JSON.parse('-1e999'), null, 'Infinity', Number.NaN];
    const ids = values.flatMap((value) =>
      [value, [value], { a: value }].map((added) => idOf(aBareRecord({ added }))),
    );
    expect(new Set(ids).size).toBe(ids.length);
  });

  test('is the same with the time written with a zone, as the other feeds do', () => {
    expect(idOf(aBareRecord({ publication_time: '2026-05-21T13:00:00+00:00' }))).toBe(idOf(aBareRecord()));
  });

  test('is the same after a user has given one of its fields to a column', () => {
    const record = aBareRecord({ tone: 0.4 });
    const { row } = gmsiHeadlines.reader({ semantic_score: ['tone'] }).read(record);
    expect(row).toMatchObject({ semantic_score: 0.4, headline_id: idOf(record) });
  });

  test('counts everything beside its time, if the time is nested', () => {
    const reader = gmsiHeadlines.reader({ published_at: ['dates.published'] });
    const [one, other] = [1, 2].map((version) => {
      const dates = { published: '2026-05-21', version };
      return reader.read({ ...without(aBareRecord(), 'publication_time'), dates }).row?.headline_id;
    });
    expect(one).not.toBe(other);
  });
});

function reversed(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(reversed);
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([name, item]) => [name, reversed(item)]),
  );
}

function canonicalText(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(canonicalText).join()}]`;
  const entries = Object.entries(value).map(
    ([name, item]) => `${JSON.stringify(name)}:${canonicalText(item)}`,
  );
  return `{${entries.sort().join()}}`;
}
