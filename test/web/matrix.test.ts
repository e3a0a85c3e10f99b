import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { aTab, axeFindings, browserPath } from './a-browser.ts';
import { aBuiltPage } from './a-page.ts';
import { answerWithAllPairs } from './all-pairs.ts';

let built: Awaited<ReturnType<typeof aBuiltPage>>;

beforeAll(async () => {
  if (browserPath) built = await aBuiltPage();
});

afterAll(() => built?.[Symbol.asyncDispose]());

describe.skipIf(!browserPath)('the matrix of all pairs', { timeout: 120_000 }, () => {
  async function open(query = '') {
    const tab = await aTab(built.browser);
    await answerWithAllPairs(tab.page);
    await tab.page.goto(`${built.served.url}/?view=coverage${query}`);
    const grid = tab.page.getByRole('grid');
    await grid.waitFor();
    return { tab, page: tab.page, grid, told: tab.page.locator('.matrix [aria-live]') };
  }

  it('draws 97 × 70 cells, and again in other colours', async () => {
    const { tab, page, grid } = await open();
    await using _ = tab;
    expect(await grid.getAttribute('aria-rowcount')).toBe('97');
    expect(await grid.getAttribute('aria-colcount')).toBe('70');
    const drawn = () =>
      page.evaluate("performance.getEntriesByName('matrix').map(({ duration }) => duration)") as Promise<
        number[]
      >;
    for (const colorScheme of ['dark', 'light', 'dark', 'light'] as const) {
      const { length } = await drawn();
      await page.emulateMedia({ colorScheme });
      await expect.poll(async () => (await drawn()).length).toBeGreaterThan(length);
    }
    expect(await axeFindings(page)).toEqual([]);
    expect(tab.complaints).toEqual([]);
  });

  it('says the cell in hand, opens it with Enter and closes it with Escape', async () => {
    const { tab, page, grid, told } = await open();
    await using _ = tab;
    await grid.focus();
    await page.keyboard.press('ArrowRight');
    await expect
      .poll(() => told.innerText())
      .toBe(
        'C01, Group 1-Topic 1: 3,220 of 3,653 days covered (88.1%), 3 settling, 300 waiting, 30 failed, 100 refused',
      );
    await page.keyboard.press('Control+End');
    await expect.poll(() => told.innerText()).toMatch(/^C97, Group 7-Topic 9:/);
    await page.keyboard.press('ArrowUp');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Country C96 · Group 7-Topic 9' }).waitFor();
    expect(new URL(page.url()).searchParams.get('country')).toBe('C96');
    await page.keyboard.press('Escape');
    await expect.poll(() => page.locator('.series').count()).toBe(0);
    await page.goBack();
    await page.getByRole('heading', { name: 'Country C96 · Group 7-Topic 9' }).waitFor();
  });

  it('leads from one failure to the next', async () => {
    const { tab, page } = await open();
    await using _ = tab;
    const next = page.getByRole('button', { name: '2 series have failed days' });
    for (const name of ['C01 · Group 1-Topic 1', 'C90 · Group 7-Topic 9', 'C01 · Group 1-Topic 1']) {
      await next.click();
      await page.getByRole('heading', { name: `Country ${name}` }).waitFor();
    }
  });

  it('sums up a group that is folded', async () => {
    const { tab, page, grid, told } = await open();
    await using _ = tab;
    await page.getByRole('button', { name: 'Group 1', exact: true }).click();
    await expect.poll(() => grid.getAttribute('aria-colcount')).toBe('61');
    await grid.focus();
    await page.keyboard.press('Control+Home');
    await expect
      .poll(() => told.innerText())
      .toMatch(/^C01, Group 1 \(10 topics\): 32,470 of 36,530 days covered .*, 30 failed/);
    await page.keyboard.press('Enter');
    await expect.poll(() => grid.getAttribute('aria-colcount')).toBe('70');
  });
});
