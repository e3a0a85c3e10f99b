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
  async function open() {
    const tab = await aTab(built.browser);
    await answerWithAllPairs(tab.page);
    await tab.page.goto(`${built.served.url}/?view=pipeline`);
    const grid = tab.page.getByRole('grid');
    await grid.waitFor();
    return { tab, page: tab.page, grid };
  }

  it('draws 97 × 70 cells, and again in other colours', async () => {
    const { tab, page, grid } = await open();
    await using _ = tab;
    expect(await grid.locator('tbody td').count()).toBe(97 * 70);
    const colours = () =>
      page.evaluate(
        "getComputedStyle(document.querySelector('.grid .failed')).backgroundImage",
      ) as Promise<string>;
    const light = await colours();
    expect(new Set(light.match(/rgb[^)]*/g)).size).toBe(5);
    await page.emulateMedia({ colorScheme: 'dark' });
    expect(await colours()).not.toBe(light);
    expect(await axeFindings(page)).toEqual([]);
    expect(tab.complaints).toEqual([]);
  });
});

// What opening a view costs takes longer on a slower machine. These do not, and it follows from them.
it.skipIf(!browserPath)(
  'the matrix of 6,790 series needs few requests and bytes, and answers a key at once',
  async () => {
    await using tab = await aTab(built.browser);
    const { page } = tab;
    await answerWithAllPairs(page);
    let asked = 0;
    page.on('request', () => {
      asked += 1;
    });
    await page.goto(`${built.served.url}/?view=pipeline`);
    await page.getByText('failed').first().waitFor();
    await tab.quiet();
    // A key moves the focus, and draws nothing anew.
    await page.locator('.grid tbody td').first().focus();
    await page.evaluate(`globalThis.drawn = 0;
      new MutationObserver((changes) => { drawn += changes.length; }).observe(document.body, { subtree: true, childList: true })`);
    await page.keyboard.press('ArrowDown');
    expect(await page.evaluate('document.activeElement.ariaLabel')).toMatch(/^C02 /);
    expect(await page.evaluate('drawn')).toBe(0);
    expect(asked).toBeLessThan(20);
    // Compressed, with what is loaded when the view is first shown.
    const sent = (await page.evaluate(
      "performance.getEntriesByType('resource').filter(({ name }) => !name.includes('/api/')).reduce((sum, one) => sum + one.encodedBodySize, 0)",
    )) as number;
    expect(sent).toBeGreaterThan(10_000);
    expect(sent).toBeLessThan(300_000);
    expect(tab.complaints).toEqual([]);
  },
  120_000,
);
