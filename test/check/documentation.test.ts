import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { findChecks } from '../../src/check/find-checks.ts';
import { catalog } from '../../src/feeds/catalog.ts';
import { root } from '../docs/pages.ts';

const feeds = [...catalog.keys()];
const page = readFileSync(`${root}docs/reference.md`, 'utf8');

test('docs/reference.md names every check there is, with its severity', async () => {
  const documented = [...page.matchAll(/^\| `([a-z-]+)` \| (fail|warn) \| .* \|$/gm)];
  const checks = await findChecks('/', feeds);
  expect(documented.map(([, name, severity]) => [name, severity])).toEqual(
    checks.map(({ name, severity }) => [name, severity]),
  );
});
