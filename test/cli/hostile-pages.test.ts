import { expect } from 'vitest';
import { it } from '../support/serving.ts';
import { accessTo, aFolder, gmsi } from './gmsi.ts';
import {
  allowed,
  aService,
  expectWithstood,
  hostile,
  listOf,
  measured,
  mebibyte,
  quick,
} from './hostile-pages.ts';

it.each(quick)('takes less than 600 MB when eight windows are sent %s', (name) =>
  expectWithstood(hostile[name]!),
);

it('takes less than 600 MB for a list of a million countries, and refuses it', async ({ warehouse }) => {
  await using folder = await aFolder();
  await using service = await aService(
    { answer: (response) => response.end(listOf('"AA"', 5 * mebibyte)) },
    {},
  );
  const { peak, env } = await measured(folder, accessTo(warehouse, service));
  const { code, stderr } = await gmsi(['lookups'], { cwd: folder.path, env });
  expect({ code, stderr }).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/^gmsi: GET \/countries lists .*more than/),
  });
  expect((await peak()) / mebibyte).toBeLessThan(allowed);
});
