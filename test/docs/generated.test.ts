import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import { dictionaryFiles, schemaFiles } from '../../scripts/generated.ts';
import { test } from '../support/serving.ts';
import { root } from './pages.ts';

test('what npm run schema and npm run dictionary write is current', async ({ db }) => {
  for (const [path, text] of Object.entries({ ...schemaFiles(), ...(await dictionaryFiles(db)) }))
    expect(await readFile(join(root, path), 'utf8'), path).toBe(text);
});
