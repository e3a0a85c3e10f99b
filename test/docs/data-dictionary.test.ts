import { expect, test } from 'vitest';
import { aWarehouse } from '../support/test-warehouse.ts';
import { readColumns, readRelations, renderDataDictionary } from './data-dictionary.ts';

test('every table, column and function of the warehouse carries a comment', async () => {
  await using warehouse = await aWarehouse();
  const relations = await readRelations(warehouse.db);
  const columns = await readColumns(warehouse.db);
  expect(relations.map(({ name }) => name)).toContain('headlines');
  const silent = [
    ...relations.filter(({ comment }) => !comment).map(({ name }) => name),
    ...columns.filter(({ comment }) => !comment).map(({ relation, column }) => `${relation}.${column}`),
  ];
  expect(silent).toEqual([]);
});

test('the data dictionary says what the comments in the database say', async () => {
  await using warehouse = await aWarehouse();
  const text = renderDataDictionary(await readRelations(warehouse.db), await readColumns(warehouse.db));
  await expect(text).toMatchFileSnapshot('../../docs/data-dictionary.md');
});
