import fc from 'fast-check';
import { sql } from 'kysely';
import { describe, expect, test } from 'vitest';
import type { ColumnType } from '../../src/feeds/feed.ts';
import { arrayParameter } from '../../src/warehouse/arrays.ts';
import { aWarehouseForAll } from '../support/for-all.ts';
import { sqlIn } from '../support/warehouse-state.ts';

const warehouse = await aWarehouseForAll({ connections: 1 });

/** What PostgreSQL makes of a column of such values. */
async function unnested(values: readonly (string | number | null)[], type: ColumnType): Promise<unknown[]> {
  const got = await sqlIn(warehouse.db)<{ value: unknown }>`
    select unnest(${arrayParameter(values, type)}::${sql.raw(type)}[]) as value`;
  return got.map(({ value }) => value);
}

describe('a column sent as an array', () => {
  test('brings every id back, with dashes or without', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.option(fc.uuid()), { minLength: 1 }), async (ids) => {
        expect(await unnested(ids, 'uuid')).toEqual(ids);
        const plain = ids.map((id) => (id === null ? null : id.replaceAll('-', '')));
        expect(await unnested(plain, 'uuid')).toEqual(ids);
      }),
    );
  });

  test('brings every time back to the microsecond', async () => {
    const [min, max] = [new Date('1900-01-01T00:00:00Z'), new Date('2100-12-31T23:59:59Z')];
    const aTime = fc
      .tuple(fc.date({ min, max, noInvalidDate: true }), fc.option(fc.integer({ min: 1, max: 999_999 })))
      .map(([date, micros]) => {
        const seconds = date.toISOString().slice(0, 19);
        return micros === null ? `${seconds}Z` : `${seconds}.${String(micros).padStart(6, '0')}Z`;
      });
    await fc.assert(
      fc.asyncProperty(fc.array(fc.option(aTime), { minLength: 1 }), async (times) => {
        const rows = await sqlIn(warehouse.db)<{ sent: boolean }>`
          select sent is not distinct from text::timestamptz as sent
          from (select unnest(${arrayParameter(times, 'timestamptz')}::timestamptz[]) as sent,
                       unnest(${times}::text[]) as text) as both_ways`;
        expect(rows).toEqual(times.map(() => ({ sent: true })));
      }),
    );
  });

  test.each([
    ['uuid', 'not an id'],
    ['uuid', '00000000-0000-4000-8000-00000000000'],
    ['uuid', '00000000-0000-4000-8000-00000000000000'],
    ['timestamptz', 'infinity'],
  ] as const)('refuses the %s "%s", rather than send another one', (type, value) => {
    expect(() => arrayParameter([value], type)).toThrow(TypeError);
  });
});
