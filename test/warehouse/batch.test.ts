import fc from 'fast-check';
import { Kysely, PostgresDialect, type PostgresPool, sql } from 'kysely';
import pg from 'pg';
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { later, preparedOn, type Query } from '../../src/warehouse/prepared.ts';
import { aWarehouse, type TestWarehouse } from '../support/test-warehouse.ts';

let warehouse: TestWarehouse;
let client: pg.Client;
let query: Query;
/** Kysely on the same connection. */
let db: Kysely<unknown>;

beforeAll(async () => {
  warehouse = await aWarehouse();
  client = new pg.Client({ connectionString: warehouse.url });
  await client.connect();
  await client.query('create temporary table notes (note text)');
});
afterAll(async () => {
  await client.end();
  await warehouse[Symbol.asyncDispose]();
});
beforeEach(async () => {
  await client.query('truncate notes');
  query = preparedOn(client);
  const pool = { connect: async () => ({ query, release() {} }), end: async () => {} };
  db = new Kysely({ dialect: new PostgresDialect({ pool: pool as unknown as PostgresPool }) });
});

const note = (text: string) => query('insert into notes values ($1)', [text]);
const notes = async () => (await query('select note from notes', [])).rows.map((row) => row.note);
const state = async () => {
  const { rows } = await sql<{ state: string }>`
    select state from pg_stat_activity where pid = ${(client as unknown as { processID: number }).processID}
  `.execute(warehouse.db);
  return rows[0]!.state;
};

test('a transaction begins with its first statement, and not at all without one', async () => {
  const sent = vi.spyOn(client, 'query');
  for (const end of ['commit', 'rollback']) {
    await query('begin', []);
    await query(end, []);
  }
  expect(sent).not.toHaveBeenCalled();
  sent.mockRestore();
  await query("start transaction; select set_config('lock_timeout', '5s', true)", []);
  await note('first');
  expect(await state()).toBe('idle in transaction');
  expect((await query('show lock_timeout', [])).rows).toEqual([{ lock_timeout: '5s' }]);
  await query('rollback', []);
  expect(await notes()).toEqual([]);
});

test('a first statement without parameters may be several', async () => {
  await query('begin', []);
  await query("insert into notes values ('a'); insert into notes values ('b')", []);
  await query('rollback', []);
  expect(await notes()).toEqual([]);
});

test.each(['new', 'prepared'])(
  'a statement is not run if its transaction cannot begin: %s',
  async (statements) => {
    if (statements === 'prepared') {
      await query('begin', []);
      await note('first');
      await query('rollback', []);
    }
    // As if a person cancels what begins the transaction: there is none then.
    await query('begin; rollback; select 1 / 0', []);
    await expect(note('by itself')).rejects.toThrow('division by zero');
    expect(await notes()).toEqual([]);
    await query('begin', []);
    await note('later');
    await query('commit', []);
    expect(await notes()).toEqual(['later']);
  },
);

test('what is sent later goes with the next statement or the COMMIT, in order, and what it breaks is not committed', async () => {
  const noteLater = (text: string) =>
    db.connection().execute((one) => later(sql`insert into notes values (${text})`).execute(one));
  await query('begin', []);
  await noteLater('first');
  expect(await state()).toBe('idle');
  expect((await query('select note from notes where note <> $1', ['none'])).rows).toEqual([
    { note: 'first' },
  ]);
  await noteLater('second');
  await query('commit', []);
  expect(await notes()).toEqual(['first', 'second']);

  await query('begin', []);
  await note('third');
  await noteLater('fourth');
  await query('rollback', []);
  await query('begin', []);
  await note('fifth');
  await db.connection().execute((one) => later(sql`select 1 / ${0}::int`).execute(one));
  await expect(query('select 1; commit', [])).rejects.toThrow('division by zero');
  await query('rollback', []);
  expect(await notes()).toEqual(['first', 'second']);
});

test('nothing is sent later outside of a transaction, since nothing would send it', async () => {
  const alone = db
    .connection()
    .execute((one) => later(sql`insert into notes values (${'lost'})`).execute(one));
  await expect(alone).rejects.toThrow('outside of a transaction');
});

test('a statement that failed when it was prepared can be run again', async () => {
  const divide = (by: number) => query('select 1 / $1::int as quotient', [by]);
  await expect(divide(0)).rejects.toThrow('division by zero');
  expect((await divide(1)).rows).toEqual([{ quotient: 1 }]);
  await expect(divide(0)).rejects.toThrow('division by zero');
  expect((await divide(1)).rows).toEqual([{ quotient: 1 }]);
});

test('a parameter that cannot be sent fails its statement alone', async () => {
  const circle: { self?: unknown } = {};
  circle.self = circle;
  await expect(query('select $1::jsonb', [circle])).rejects.toThrow('circular');
  await note('after it');
  expect(await notes()).toEqual(['after it']);
});

/** Buffers as texts: `toEqual` takes long for large ones. */
const comparable = (value: unknown) => (Buffer.isBuffer(value) ? value.toString('latin1') : value);

test('parameters arrive as they were, however large, in whatever order', async () => {
  const text = fc.string({ unit: 'binary', maxLength: 50 }).map((value) => value.replaceAll('\0', ''));
  const bytes = fc
    .tuple(fc.constantFrom(0, 1, 4095, 4096, 4097, 70_000), fc.nat(255))
    .map(([size, byte]) => Buffer.alloc(size, byte));
  const value = fc.oneof(text, bytes, fc.constant(null));
  await fc.assert(
    fc.asyncProperty(fc.array(value, { minLength: 1, maxLength: 12 }), async (values) => {
      const kinds = values.map(
        (one, index) => `$${index + 1}::${Buffer.isBuffer(one) ? 'bytea' : 'text'} as c${index}`,
      );
      const { rows } = await query(`select ${kinds.join(', ')}`, values);
      expect(Object.values(rows[0]!).map(comparable)).toEqual(values.map(comparable));
    }),
    { numRuns: 200 },
  );
});

test('dates, numbers and lists are sent as pg sends them', async () => {
  const values = [new Date('2026-03-01T12:34:56.789Z'), 1.5, true, [1, 2], ['a', '"'], { a: [null] }];
  const text = 'select $1::timestamptz, $2::float8, $3::bool, $4::int[], $5::text[], $6::jsonb';
  expect((await query(text, values)).rows).toEqual((await client.query(text, values)).rows);
});
