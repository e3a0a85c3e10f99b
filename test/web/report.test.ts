import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { sql } from 'kysely';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Sandbox, startSandbox } from '#sandbox';
import { accessTo, aFolder, type Folder } from '../cli/gmsi.ts';
import { gmsiHere } from '../cli/in-process.ts';
import { jobFor } from '../cli/jobs.ts';
import { aWarehouse, type TestWarehouse } from '../support/test-warehouse.ts';
import { aRow, upsert } from '../warehouse/a-row.ts';
import { aBrowser, aTab, browserPath, expectGoodLooks } from './a-browser.ts';

const hostile = '</style><script>document.title="hacked"</script><img src=x onerror="alert(1)">';

let folder: Folder;
let sandbox: Sandbox;
let warehouse: TestWarehouse;
const run = (...args: string[]) => gmsiHere(args, { cwd: folder.path, env: accessTo(warehouse, sandbox) });

beforeAll(async () => {
  folder = await aFolder();
  warehouse = await aWarehouse();
  const match = ({ path }: { path: string }) => path.endsWith('/NO');
  sandbox = await startSandbox({
    limits: null,
    volume: 0.2,
    faults: { script: [{ kind: 'refuse', status: 422, times: 1, match }] },
  });
  const asked = { countries: ['US', 'NO'], topics: ['Inflation-Food'], from: '2024-01-01', to: '2024-03-31' };
  await folder.write('jobs/food.yaml', jobFor(asked));
  await run('backfill', 'food');
  await run('check', 'food');
  await upsert(warehouse.db, [aRow({ published_at: new Date().toISOString() })], { isBackfilled: false });
  await sql`update gmsi.windows set last_error = ${hostile} where state in ('failed', 'refused')`.execute(
    warehouse.db,
  );
});
afterAll(async () => {
  await warehouse[Symbol.asyncDispose]();
  await sandbox[Symbol.asyncDispose]();
  await folder[Symbol.asyncDispose]();
});

it('is one file with coverage, failures, jobs, budget, checks and loads, and nothing that runs', async () => {
  const { code, stdout } = await run('serve', '--html', '-');
  expect(code).toBe(0);
  expect(stdout).toMatch(/^<!doctype html>/);
  expect(stdout).not.toMatch(/<script|<img|<link|<button|https?:\/\/(?!www\.w3\.org)/);
  expect(stdout).toContain('&lt;script>');
  for (const title of [
    'Coverage',
    'npx gmsi backfill food',
    'Jobs',
    'Requests this month',
    'Checks',
    'Arrival',
    'Last loads',
  ])
    expect(stdout).toContain(title);
  expect(stdout).not.toContain('sandbox-key');
  expect(stdout).not.toContain('Asking');
});

it('reports an empty warehouse', async () => {
  await using empty = await aWarehouse();
  const { code, stdout } = await gmsiHere(['serve', '--html', '-'], {
    cwd: folder.path,
    env: accessTo(empty, sandbox),
  });
  expect(code).toBe(0);
  expect(stdout).toContain('Nothing has been loaded yet.');
});

it('is written to the file that is named, and says what to do if it cannot be', async () => {
  const { code, stdout } = await run('serve', '--html', 'monday.html', '--json');
  expect([code, JSON.parse(stdout)]).toEqual([0, { file: 'monday.html', bytes: expect.any(Number) }]);
  expect(await readFile(join(folder.path, 'monday.html'), 'utf8')).toMatch(/^<!doctype html>/);
  expect((await stat(join(folder.path, 'monday.html'))).mode & 0o777).toBe(0o600);
  const failed = await run('serve', '--html', 'no/such/folder/monday.html');
  expect(failed.code).toBe(2);
  expect(failed.stderr).toMatch(
    /cannot be written to no\/such\/folder\/monday\.html: .*\n.*--html takes a file/,
  );
});

it.skipIf(!browserPath)('shows itself in a browser without a script or a server', async () => {
  const { stdout } = await run('serve', '--html', '-');
  const { href } = pathToFileURL(await folder.write('report.html', stdout));
  await using browser = await aBrowser();
  await using tab = await aTab(browser);
  await tab.page.goto(href);
  await tab.page.getByText('Last loads').waitFor();
  await expectGoodLooks(tab.page);
  expect(tab.complaints).toEqual([`asks ${href}`]);
  expect(await tab.page.title()).toMatch(/^gmsi, \d{4}/);
});
