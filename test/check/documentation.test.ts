import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parseCheck } from '../../src/check/check-file.ts';
import { findChecks } from '../../src/check/find-checks.ts';
import { runChecks } from '../../src/check/run-checks.ts';
import { catalog } from '../../src/feeds/catalog.ts';
import { root, sqlMarked } from '../docs/pages.ts';
import { aJob } from '../support/run-backfill.ts';
import { busy, checkedJob, loaded, run } from './loaded.ts';

const feeds = [...catalog.keys()];
const page = readFileSync(`${root}docs/reference.md`, 'utf8');

test('docs/reference.md names every check there is, with its severity and settings', async () => {
  const documented = [...page.matchAll(/^\| `([a-z-]+)` \| (fail|warn) \| .* \| (.*)\|$/gm)];
  const checks = await findChecks({ cwd: '/' }, feeds);
  expect(documented.map(([, name, severity, settings]) => [name, severity, settings!.trim()])).toEqual(
    checks.map(({ name, severity, settings }) => [
      name,
      severity,
      settings.map((setting) => `\`${setting.name}\` ${setting.value}`).join(', '),
    ]),
  );
});

test('the check that docs/reference.md shows runs as it is printed', async () => {
  await using warehouse = await loaded([aJob({ ...busy, end_date: '2024-01-31' })]);
  const checked = await checkedJob(warehouse.db, aJob({ ...busy, end_date: '2024-01-31' }));
  const check = parseCheck('docs/reference.md', sqlMarked('check'), feeds);
  const runWith = async (value: number) =>
    (
      await runChecks(
        warehouse.db,
        [checked],
        [{ ...check, settings: [{ ...check.settings[0]!, value }] }],
        run,
      )
    )[0];
  expect(await runWith(2)).toMatchObject([{ result: 'passed' }]);
  expect(await runWith(1000)).toMatchObject([{ result: 'warned', findings: 23 }]);
});

test('the checks fit a terminal', async () => {
  const checks = await findChecks({ cwd: '/' }, feeds);
  expect(checks.filter(({ name, title }) => name.length > 17 || title.length > 64)).toEqual([]);
});
