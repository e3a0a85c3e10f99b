import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startSandbox } from '#sandbox';
import { aJob, runBackfill } from '../support/run-backfill.ts';
import { browserPath, countOf, expectGoodLooks, goAsOf, opened, textOf } from './a-browser.ts';
import { aBuiltPage } from './a-page.ts';

const days = { start_date: '2026-09-01', end_date: '2026-10-31' };
const october = 'from=2026-10-01&to=2026-10-31';
const series = `view=sentiment&country=US&topic=Inflation-Food&${october}`;

let built: Awaited<ReturnType<typeof aBuiltPage>>;

/** Loads a series, then loads October again, after the service revised and withdrew some of its headlines. */
beforeAll(async () => {
  if (!browserPath) return;
  built = await aBuiltPage();
  const world = { limits: null, volume: 0.5 };
  const load = async (start_date: string, fullRefresh: boolean, changes = {}) => {
    await using sandbox = await startSandbox({ ...world, changes });
    const job = aJob({ ...days, start_date, countries: ['US'], topics: ['Inflation-Food'] });
    const plan = { fullRefresh, retryRefused: false };
    return await runBackfill({ job, db: built.warehouse.db, sandbox, plan });
  };
  await load(days.start_date, false);
  // A moment in the address has whole seconds, so one has to begin between the loads.
  await sleep(1_050 - (Date.now() % 1_000));
  const { totals } = await load('2026-10-01', true, { revised: 0.1, withdrawn: 0.03 });
  expect(Number(totals.rows_changed)).toBeGreaterThan(0);
  expect(Number(totals.rows_retracted)).toBeGreaterThan(0);
});

afterAll(() => built?.[Symbol.asyncDispose]());

describe.skipIf(!browserPath)('as of', { timeout: 120_000 }, () => {
  it('begins before the last change: both states in one chart, changed points counted, both values read out', async () => {
    const page = await opened(built.browser, `${built.served.url}/?${series}`);
    await goAsOf(page);
    await page
      .getByText(/^Strong lines: what this warehouse knew on .*Pale lines: what it knows now\./)
      .waitFor();
    const note = page.locator('.note');
    await textOf(note).toMatch(/^[1-9]\d* days changed since then\./);
    await page.getByRole('button', { name: 'Numbers' }).click();
    const table = page.getByRole('region', { name: 'Numbers' });
    const numbers = async (title: string) =>
      await table.locator(`td[data-title$=" directional${title}"]`).allInnerTexts();
    await expect.poll(async () => (await numbers(' now')).length).toBe(31);
    const [then, now] = [await numbers(''), await numbers(' now')];
    const place = then.findIndex((mean, index) => mean !== now[index]);
    expect(place).toBeGreaterThanOrEqual(0);
    await page.getByRole('application').focus();
    await page.keyboard.press('End');
    for (let presses = 0; presses < place; presses++) await page.keyboard.press('ArrowLeft');
    const told = page.locator('.readout');
    await textOf(told).toContain(`2026-10-${String(31 - place).padStart(2, '0')}`);
    const [, first, second] = (await told.innerText()).split('\n').filter(Boolean);
    expect(first).toMatch(/ then/);
    expect(first).toContain(then[place]);
    expect(second).toMatch(/ now/);
    expect(second).toContain(now[place]);
    await expectGoodLooks(page);
  });

  it('slides back to the first moment with data, and no further', async () => {
    const page = await opened(built.browser, `${built.served.url}/?${series}`);
    await goAsOf(page);
    await page.getByText(/days changed since then/).waitFor();
    await page.getByRole('slider', { name: 'Moment' }).focus();
    await page.keyboard.press('Home');
    await page.waitForTimeout(400);
    await countOf(page.locator('.stale')).toBe(0);
    expect(await page.getByText('before its first load').count()).toBe(0);
    await page.getByText(/days changed since then/).waitFor();
  });
});
