import { expect } from 'vitest';
import { test } from '../support/serving.ts';
import { readColumns, readRelations, renderDataDictionary } from './data-dictionary.ts';

test('every table, column and function of the warehouse carries a comment', async ({ db }) => {
  const relations = await readRelations(db);
  const columns = await readColumns(db);
  expect(relations.map(({ name }) => name)).toContain('headlines');
  const silent = [
    ...relations.filter(({ comment }) => !comment).map(({ name }) => name),
    ...columns.filter(({ comment }) => !comment).map(({ relation, column }) => `${relation}.${column}`),
  ];
  expect(silent).toEqual([]);
});

test('the data dictionary says what the comments in the database say', async ({ db }) => {
  const text = renderDataDictionary(await readRelations(db), await readColumns(db));
  await expect(text).toMatchFileSnapshot('../../docs/data-dictionary.md');
});
