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
    expect(await grid.getAttribute('aria-rowcount')).toBe('97');
    expect(await grid.getAttribute('aria-colcount')).toBe('70');
    const colours = () =>
      page.evaluate(
        "[...document.querySelectorAll('.matrix .mark-fill')].map((one) => getComputedStyle(one).fill).join()",
      ) as Promise<string>;
    const light = await colours();
    expect(light.match(/rgb/g)!.length).toBeGreaterThanOrEqual(4);
    await page.emulateMedia({ colorScheme: 'dark' });
    expect(await colours()).not.toBe(light);
    expect(await axeFindings(page)).toEqual([]);
    expect(tab.complaints).toEqual([]);
  });
});

// What opening a view costs takes longer on a slower machine. These do not, and it follows from them.
it.skipIf(!browserPath)(
  'the matrix of 6,790 series needs few elements, requests and bytes',
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
    // A good half more than it does.
    expect(await page.evaluate("document.querySelectorAll('*').length")).toBeLessThan(400);
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
