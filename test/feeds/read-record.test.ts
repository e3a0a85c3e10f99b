import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { FieldAliases, RecordShape, Row } from '../../src/feeds/feed.ts';
import { createRecordReader } from '../../src/feeds/reading/read-record.ts';

const shape: RecordShape = {
  columns: {
    event_id: 'uuid',
    at: 'timestamptz',
    name: 'text',
    source: 'text',
    rise: 'double precision',
    fall: 'double precision',
    net: 'double precision',
    extra: 'jsonb',
  },
  fields: {
    event_id: ['id', 'key'],
    at: ['at', 'time', 'dates.start'],
    name: ['name', 'title', 'text.title'],
    source: ['source', 'source.name', 'text.source'],
    rise: ['rise', 'move.rise', 'move.parts.rise'],
    fall: ['fall', 'move.fall'],
    net: ['net', 'move'],
  },
  identity: { id: 'event_id', time: 'at', text: 'name', qualifiers: ['source'] },
  differences: [{ column: 'net', of: ['rise', 'fall'] }],
  required: [{ anyOf: ['at'], reason: 'no time' }],
};

function read(fields: Record<string, unknown>, overrides?: FieldAliases): Record<string, unknown> {
  const { row } = createRecordReader(shape, overrides).read({ at: '2026-05-21', ...fields });
  return { ...(row as Row), extra: row!.extra === null ? null : JSON.parse(row!.extra as string) };
}

const own = { name: ['label', 'text.label'] };
const nestedTitle = { text: { title: 'c' } };
const others = { tags: ['a', { b: null }], region: null, flag: false, deep: { er: { still: 1 } } };
const noNumbers = { rise: Number.POSITIVE_INFINITY, fall: 'NaN', move: { fall: Number.NaN } };
const rest = { move: { unit: 'pp', parts: { rise: 1, of: 2 } } };

test.each<[what: string, sent: Record<string, unknown>, row: object, FieldAliases?]>([
  [
    'the better alias; the other stays in extra',
    { name: 'a', title: 'b' },
    { name: 'a', extra: { title: 'b' } },
  ],
  [
    'the best of three, though it comes last',
    { ...nestedTitle, title: 'b', name: 'a' },
    { name: 'a', extra: { title: 'b', ...nestedTitle } },
  ],
  ['the next alias after one that is null', { name: null, title: 'b' }, { name: 'b', extra: null }],
  ['the next alias after one that is empty', { name: '', title: 'b' }, { name: 'b', extra: null }],
  [
    'the next alias after one that cannot be read, which stays in extra',
    { rise: 'n/a', move: { rise: 3 } },
    { rise: 3, extra: { rise: 'n/a' } },
  ],
  ["a user's alias first", { name: 'a', label: 'b' }, { name: 'b', extra: { name: 'a' } }, own],
  ["a user's nested alias", { name: 'a', text: { label: 'c' } }, { name: 'c', extra: { name: 'a' } }, own],
  ['the default after the aliases of a user', { name: 'a' }, { name: 'a' }, own],
  [
    "a user's alias that another column has",
    { title: 'x' },
    { name: null, source: 'x' },
    { source: ['title'] },
  ],
  ['every field without a column whole into extra', others, { extra: others }],
  [
    'what is left of an object into extra',
    { move: { rise: 3, ...rest.move }, text: { title: 't' } },
    { rise: 3, name: 't', extra: rest },
  ],
  ['no object in the place of a value', { name: { en: 'a' }, source: ['x'] }, { name: null, source: null }],
  [
    'a value in the place of an object into extra',
    { source: { id: 1 }, dates: 'soon' },
    { extra: { source: { id: 1 }, dates: 'soon' } },
  ],
  [
    'what a numeric column cannot hold into extra, as a text',
    noNumbers,
    {
      ...{ rise: null, fall: null, net: null },
      extra: { rise: 'Infinity', fall: 'NaN', move: { fall: 'NaN' } },
    },
  ],
  ['a difference unrounded', { rise: 0.3, fall: 0.1 }, { net: 0.3 - 0.1 }],
  ['a difference as it is sent', { rise: 3, fall: 1, net: 0 }, { net: 0 }],
  ['no difference without one of the two', { rise: 3 }, { net: null }],
])('a record is read with %s', (_, sent, row, overrides) => {
  expect(read(sent, overrides)).toEqual(expect.objectContaining(row));
});

describe('an alias', () => {
  test('for a column that there is not is refused, with the nearest column', () => {
    const attempt = () => createRecordReader(shape, { sauce: ['x'] });
    expect(attempt).toThrow('this feed has no column "sauce"');
    expect(attempt).toThrow(
      expect.objectContaining({ hint: expect.stringContaining('Did you mean source?') }),
    );
    expect(() => createRecordReader(shape, { extra: ['x'] })).toThrow('no column "extra"');
    expect(() => createRecordReader(shape, { constructor: ['x'] })).toThrow('no column "constructor"');
  });

  test('that a user gives to two columns is refused', () => {
    expect(() => createRecordReader(shape, { name: ['x'], source: ['x'] })).toThrow(
      '"x" is given for both name and source',
    );
  });
});

describe('a value that its column cannot take', () => {
  const reject = (fields: Record<string, unknown>) => {
    const reader = createRecordReader(shape);
    const { row, rejected } = reader.read({ at: '2026-05-21', ...fields });
    return { row, rejected, values: Object.fromEntries(reader.rejectedValues) };
  };

  const unreadable = ['1,234', 'n/a', 'nan', true, [3], { of: 3 }, Number.POSITIVE_INFINITY, Number.NaN];
  test.each(unreadable.map((value) => [value]))(
    '%j is rejected, and the record is a row without it',
    (rise) => {
      expect(reject({ rise, fall: 1 })).toMatchObject({
        row: { rise: null, fall: 1 },
        rejected: 'no readable rise',
        values: { rise: 1 },
      });
    },
  );

  test('may be an object without the fields that are read from it', () => {
    expect(reject({ source: { a: 1, b: 2 } })).toMatchObject({
      row: { source: null, extra: '{"source":{"a":1,"b":2}}' },
      values: { source: 1 },
    });
  });

  test('may be what Python writes for no text and no id: no publisher, and not the id of all records without one', () => {
    const [one, other] = ['a', 'b'].map((name) => reject({ name, source: 'NaN', id: 'NaN' }));
    expect(one).toMatchObject({ row: { source: null }, rejected: 'no readable source' });
    expect(one!.row!.event_id).not.toBe(other!.row!.event_id);
  });

  test('is named beside the others, in the order of their names', () => {
    expect(reject({ rise: 'up', name: ['a'], fall: 'down' })).toMatchObject({
      rejected: 'no readable fall, name, rise',
      values: { fall: 1, name: 1, rise: 1 },
    });
  });

  test.each([
    ['another field fills its column', { rise: 'up', move: { rise: 3 } }],
    ['its column can be computed', { net: 'up', rise: 3, fall: 1 }],
    ['its column is the id, which is made', { id: ['x'], name: 'a' }],
    ['it says that there is none', { net: null, name: '' }],
    ['it is around others', { source: { name: null, id: 3 }, text: { length: 3 } }],
  ])('does not matter if %s', (_why, fields) => {
    expect(reject(fields)).toMatchObject({ rejected: undefined, values: {} });
  });
});

describe('extra', () => {
  test('takes keys named after members of Object.prototype like any other', () => {
    const record = JSON.parse(
      '{"at":"2026-05-21","__proto__":{"polluted":1},"constructor":{"name":"c"},"toString":1}',
    );
    const { row } = createRecordReader(shape).read(record);
    expect(row?.extra).toBe('{"__proto__":{"polluted":1},"constructor":{"name":"c"},"toString":1}');
    expect(row).toMatchObject({ name: null });
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  });

  test('reads and keeps aliases within objects that are named after members of Object.prototype', () => {
    const overrides = { name: ['__proto__.label', 'constructor.label'] };
    const record = JSON.parse(
      '{"at":"2026-05-21","__proto__":{"label":"a","b":1},"constructor":{"label":"c"}}',
    );
    const { row } = createRecordReader(shape, overrides).read(record);
    expect(row).toMatchObject({ name: 'a', extra: '{"__proto__":{"b":1},"constructor":{"label":"c"}}' });
  });

  test('survives endless nesting and huge texts', () => {
    const deep = JSON.parse(`${'{"a":'.repeat(50_000)}1${'}'.repeat(50_000)}`);
    const huge = 'é\0'.repeat(500_000);
    const { row } = createRecordReader(shape).read({ at: '2026-05-21', deep, name: huge, source: null });
    expect(row?.extra).toContain('nested deeper than');
    expect(row?.name).toHaveLength(huge.length);
    expect(createRecordReader(shape).read({ at: '2026-05-21', deep }).row).toBeDefined();
  });
});

test('no value of a record is ever lost, and each is kept in one place', () => {
  const value = fc.oneof(
    fc.integer({ min: 1, max: 99 }),
    fc.constantFrom('7', 'n/a', '2026-05-21', 'word', true),
    fc.array(fc.integer(), { minLength: 1, maxLength: 2 }),
  );
  const name = fc.constantFrom(...'id key at time name title source rise fall net other'.split(' '));
  const inner = fc.constantFrom('start', 'title', 'source', 'name', 'rise', 'fall', 'other');
  const nest = fc.constantFrom('dates', 'text', 'source', 'move', 'whole');
  const record = fc
    .tuple(fc.dictionary(name, value), fc.dictionary(nest, fc.dictionary(inner, value, { minKeys: 1 })))
    .map(([flat, nested]) => ({ ...flat, ...nested }) as Record<string, unknown>);

  fc.assert(
    fc.property(record, (sent) => {
      const { row } = createRecordReader({ ...shape, differences: [] }).read({ ...sent, at: '2026-05-21' });
      const { extra, event_id: _id, at: _at, ...columns } = row!;
      const inColumns = Object.values(columns).filter((kept) => kept !== null);
      const inExtra = extra === null ? [] : leaves(JSON.parse(extra as string));
      const kept = [...inColumns.map(String), ...inExtra];
      for (const leaf of leaves({ ...sent, at: null, id: null, key: null })) {
        expect(kept).toContain(leaf);
        // Taken out, so that a value sent twice has to be kept twice.
        kept.splice(kept.indexOf(leaf), 1);
      }
    }),
  );
});

function leaves(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return value === null ? [] : [String(value)];
  return Array.isArray(value) ? [JSON.stringify(value)] : Object.values(value).flatMap(leaves);
}

describe('the fields seen', () => {
  test('say of each top-level name whether a column is filled from it', () => {
    const reader = createRecordReader(shape);
    reader.read({ at: '2026-05-21', name: null, title: 'b', move: { rise: 1, unit: 'pp' }, colour: 'red' });
    reader.read({ time: '2026-05-21', at: '2026-05-21', rise: 'n/a' });
    expect(Object.fromEntries(reader.fieldsSeen)).toEqual({
      at: 'column',
      name: 'column',
      title: 'column',
      move: 'column',
      colour: 'extra',
      time: 'extra',
      rise: 'extra',
    });
    reader.read({ time: '2026-05-21' });
    expect(reader.fieldsSeen.get('time')).toBe('column');
  });

  test('count those of rejected records too, so that a renamed field is noticed', () => {
    const reader = createRecordReader(shape);
    expect(reader.read({ when: '2026-05-21' })).toEqual({ rejected: 'no time' });
    expect([...reader.fieldsSeen]).toEqual([['when', 'extra']]);
  });
});
