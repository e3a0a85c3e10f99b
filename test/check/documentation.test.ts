import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { findChecks } from '../../src/check/find-checks.ts';
import { catalog } from '../../src/feeds/catalog.ts';
import { root } from '../docs/pages.ts';

const feeds = [...catalog.keys()];
const page = readFileSync(`${root}docs/reference.md`, 'utf8');

test('what a check says of all findings, such as their first day, does not tell one finding from another', async () => {
  for (const { name, why, totals } of await findChecks('/', feeds)) {
    const said = [...why.matchAll(/<(\w+)>/g)]
      .map(([, column]) => column)
      .filter((column) => column !== 'job');
    expect(totals, name).toEqual([...new Set(said)]);
  }
});

test('docs/reference.md names every check there is, with its severity', async () => {
  const documented = [...page.matchAll(/^\| `([a-z-]+)` \| (fail|warn) \| .* \|$/gm)];
  const checks = await findChecks('/', feeds);
  expect(documented.map(([, name, severity]) => [name, severity])).toEqual(
    checks.map(({ name, severity }) => [name, severity]),
  );
});
