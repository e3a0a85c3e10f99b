import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Sandbox, startSandbox } from '#sandbox';
import { accessTo, aFolder, type Folder } from '../cli/gmsi.ts';
import { gmsiHere } from '../cli/in-process.ts';
import { jobFor } from '../cli/jobs.ts';
import { aWarehouseForAll } from '../support/for-all.ts';
import { aWarehouse } from '../support/test-warehouse.ts';
import { changeWindowsIn } from '../support/warehouse-state.ts';
import { aRow, upsert } from '../warehouse/a-row.ts';
import { aBrowser, aTab, browserPath, expectGoodLooks } from './a-browser.ts';

const hostile = '</style><script>document.title="hacked"</script><img src=x onerror="alert(1)">';

let folder: Folder;
let sandbox: Sandbox;
const warehouse = await aWarehouseForAll();
const run = (...args: string[]) => gmsiHere(args, { cwd: folder.path, env: accessTo(warehouse, sandbox) });

beforeAll(async () => {
  folder = await aFolder();
  const match = ({ path }: { path: string }) => path.endsWith('/NO');
  sandbox = await startSandbox({
    limits: null,
    volume: 0.2,
    faults: { script: [{ kind: 'refuse', status: 422, times: 2, match }] },
  });
  const asked = { countries: ['US', 'NO'], topics: ['Inflation-Food'], from: '2024-01-01', to: '2024-03-31' };
  await folder.write('jobs/food.yaml', jobFor(asked));
  await run('backfill', 'food');
  await run('check', 'food');
  await upsert(warehouse.db, [aRow({ published_at: new Date().toISOString() })], { isBackfilled: false });
  await changeWindowsIn(warehouse.db, { last_error: hostile });
});
afterAll(async () => {
  await sandbox[Symbol.asyncDispose]();
  await folder[Symbol.asyncDispose]();
});

it('is one file without an address, a key or a text of the data that could run', async () => {
  const { code, stdout } = await run('serve', '--html', '-');
  expect(code).toBe(0);
  expect(stdout).toMatch(/^<!doctype html>/);
  expect(stdout).not.toMatch(/<(script|img|link)[^>]* (src|href)=/);
  expect(stdout).not.toContain(hostile.slice(0, 20));
  expect(stdout).toContain(String.raw`\u003c/style>`);
  expect(stdout).not.toContain('sandbox-key');
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

describe.skipIf(!browserPath)('in a browser', () => {
  async function opened(stdout: string, view = '') {
    const { href } = pathToFileURL(await folder.write('report.html', stdout));
    const browser = await aBrowser();
    const tab = await aTab(browser);
    await tab.page.goto(href + view);
    return { ...tab, href, [Symbol.asyncDispose]: () => browser.close() };
  }

  it('shows Briefing and Pipeline with what the warehouse has, without a server', async () => {
    await using tab = await opened((await run('serve', '--html', '-')).stdout);
    const { page } = tab;
    await page.getByRole('heading', { name: 'World' }).waitFor();
    await expectGoodLooks(page);
    await page.getByRole('link', { name: 'Pipeline' }).click();
    for (const title of ['Jobs', 'Requests this month', 'Missing days', 'Last loads'])
      await page.getByRole('heading', { name: title }).waitFor();
    await page.getByText(/Checks: \d+ \w+.*, since/).waitFor();
    await page.getByText('npx gmsi backfill food').first().waitFor();
    expect(await page.getByText(hostile.slice(0, 20)).count()).toBeGreaterThan(0);
    await page.getByText(/\d+ of \d+ requested series complete/).waitFor();
    await expectGoodLooks(page);
    expect(await page.getByRole('navigation').getByRole('link').count()).toBe(2);
    expect(await page.getByText(/Asking|does not contain|Share/).count()).toBe(0);
    expect(tab.complaints).toEqual([`asks ${tab.href}`]);
    expect(await page.title()).toMatch(/^GMSI briefing, \d+ \w+ 20\d\d: .*; not complete$/);
  });

  it('reports an empty warehouse', async () => {
    await using empty = await aWarehouse();
    const setting = { cwd: folder.path, env: accessTo(empty, sandbox) };
    await using tab = await opened((await gmsiHere(['serve', '--html', '-'], setting)).stdout);
    await tab.page.getByText('npx gmsi lookups').first().waitFor();
  });
});
