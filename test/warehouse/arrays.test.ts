import fc from 'fast-check';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ColumnType, Row } from '../../src/feeds/feed.ts';
import { arrayParameter } from '../../src/warehouse/arrays.ts';
import { aWarehouse, type TestWarehouse } from '../support/test-warehouse.ts';

let warehouse: TestWarehouse;

beforeAll(async () => {
  warehouse = await aWarehouse({ connections: 1 });
});

afterAll(async () => {
  await warehouse[Symbol.asyncDispose]();
});

/** What PostgreSQL makes of a column of such values. */
async function unnested(values: readonly (string | number | null)[], type: ColumnType): Promise<unknown[]> {
  const rows: Row[] = values.map((value) => ({ column: value }));
  const { rows: got } = await sql<{ value: unknown }>`
    select unnest(${arrayParameter(rows, 'column', type)}::${sql.raw(type)}[]) as value`.execute(
    warehouse.db,
  );
  return got.map(({ value }) => value);
}

/** Text as rows hold it: without the characters that PostgreSQL cannot hold (see holdable-json.ts). */
const aText = fc.string({ unit: 'binary', maxLength: 40 }).filter((text) => !text.includes('\0'));
const aNumber = fc.double({ noNaN: true, noDefaultInfinity: true });

describe('a column sent as an array', () => {
  test('brings every text back as it was', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.option(aText), { minLength: 1 }), async (texts) => {
        expect(await unnested(texts, 'text')).toEqual(texts);
      }),
    );
  });

  test('brings every number back to the last bit', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.option(aNumber), { minLength: 1 }), async (numbers) => {
        expect(await unnested(numbers, 'double precision')).toEqual(numbers);
      }),
    );
  });

  test('brings JSON back with its meaning', async () => {
    const aRecord = fc.dictionary(aText, fc.oneof(aText, fc.integer(), fc.boolean(), fc.constant(null)));
    await fc.assert(
      fc.asyncProperty(fc.array(fc.option(aRecord), { minLength: 1 }), async (records) => {
        const sent = records.map((record) => (record === null ? null : JSON.stringify(record)));
        expect(await unnested(sent, 'jsonb')).toEqual(records);
      }),
    );
  });

  test('brings ids and times back, and nulls among them', async () => {
    const ids = ['6fa459ea-ee8a-3ca4-894e-db77e160355e', null];
    expect(await unnested(ids, 'uuid')).toEqual(ids);
    const times = ['2026-05-21T13:00:00Z', null, '2016-02-29T23:59:59.123Z'];
    expect(await unnested(times, 'timestamptz')).toEqual(times.map((time) => time && new Date(time)));
  });
});
