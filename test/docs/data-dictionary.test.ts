import { expect } from 'vitest';
import { test } from '../support/serving.ts';
import { readColumns, readRelations, renderDataDictionary } from './data-dictionary.ts';

test('the data dictionary says what the comments in the database say', async ({ db }) => {
  const text = renderDataDictionary(await readRelations(db), await readColumns(db));
  await expect(text).toMatchFileSnapshot('../../docs/data-dictionary.md');
});
