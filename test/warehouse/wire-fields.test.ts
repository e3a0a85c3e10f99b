import { expect } from 'vitest';
import { rememberFields } from '../../src/warehouse/tables/learned.ts';
import { it } from '../support/serving.ts';
import { countRows } from '../support/warehouse-state.ts';

it('remembers a thousand names of a feed, and no more, of however many loads', async ({ db }) => {
  const names = (load: number, count: number) =>
    new Map(Array.from({ length: count }, (_, index) => [`${load}-${index}`, 'extra' as const]));
  const known = new Map([['publication_time', 'column' as const]]);
  await rememberFields(db, 'gmsi-headlines', 1, known);
  await rememberFields(db, 'gmsi-headlines', 2, new Map([...known, ...names(2, 700)]));
  const third = await rememberFields(db, 'gmsi-headlines', 3, new Map([...names(3, 700), ...known]));
  expect(third.appeared).toHaveLength(299);
  expect(third.vanished).toHaveLength(700);
  const fourth = await rememberFields(db, 'gmsi-headlines', 4, new Map([...names(4, 9), ...known]));
  expect(fourth.appeared).toEqual([]);
  expect(await countRows(db, 'wire_fields')).toBe(1000);
  const time = await db
    .selectFrom('gmsi.wire_fields')
    .select('last_load_id')
    .where('field', '=', 'publication_time')
    .execute();
  expect(time).toEqual([{ last_load_id: 4 }]);
});
