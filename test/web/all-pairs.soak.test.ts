import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { aTab, axeFindings, browserPath } from './a-browser.ts';
import { aBuiltPage } from './a-page.ts';
import { answer, answerWith, answerWithAllPairs, countries, topics } from './all-pairs.ts';

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
    return { tab, page: tab.page, grid, told: tab.page.locator('.matrix [role=status]') };
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
      .toMatch(/^C01 Country C01, Group 1 \(10 series\): 32,470 of 36,530 days covered .*, 30 failed/);
    await page.keyboard.press('Enter');
    await expect.poll(() => grid.getAttribute('aria-colcount')).toBe('70');
  });
});

const aDay = 86_400_000;
const dayOf = (index: number) => new Date(Date.UTC(2025, 0, 1) + index * aDay).toISOString().slice(0, 10);
const year = 'from=2025-01-01&to=2025-12-31';
const chosen = { countries: countries.slice(0, 2), topics: topics.slice(0, 6) };
const means = [0.1, -0.1, 9] as const;
const pairs = (each: (country: string, topic: string) => readonly (readonly unknown[])[]) =>
  chosen.countries.flatMap((country) => chosen.topics.flatMap((topic) => each(country, topic)));

/** A year of two countries and six topics by day, of all countries, and of all topics by week; a hundred headlines. */
const answers = {
  'series/fullest': answer('country topic match_type records', [[countries[0], topics[0], 'COMBINED', 9]]),
  sentiment: answer(
    'country topic match_type at directional semantic headlines',
    pairs((country, topic) =>
      Array.from({ length: 365 }, (_, index) => [country, topic, 'COMBINED', dayOf(index), ...means]),
    ),
  ),
  'coverage/days': answer(
    'country topic ticker variant match_type first_day last_day',
    countries.flatMap((country) =>
      topics.map((topic) => [country, topic, '', '', 'COMBINED', '2025-01-01', '2025-12-31']),
    ),
  ),
  'sentiment/countries': answer(
    'country directional semantic headlines',
    countries.map((country) => [country, ...means]),
  ),
  'sentiment/topics': answer(
    'topic at directional semantic headlines',
    topics.flatMap((topic) =>
      Array.from({ length: 52 }, (_, week) => [topic, dayOf(5 + 7 * week), ...means]),
    ),
  ),
  headlines: answer(
    'headline_id published_at headline language source url topic_probability directional_score semantic_score first_seen_at changed_at retracted_at reason moved_from earlier later',
    Array.from({ length: 100 }, (_, index) => [
      `00000000-0000-0000-0000-${String(index).padStart(12, '0')}`,
      '2025-06-10T12:00:00.000000Z',
      `Headline ${index}`,
      'en',
      'Daily Ledger',
      'https://news.example/1',
      0.9,
      0.5,
      -0.5,
      '2025-06-10T13:00:00Z',
      '2025-06-10T13:00:00Z',
      null,
      1,
      0,
    ]),
  ),
};

const lines = `view=sentiment&${year}${chosen.countries.map((one) => `&country=${one}`).join('')}${chosen.topics.map((one) => `&topic=${one}`).join('')}`;
/** How many elements each view may make, a good half more than it does. */
const views = [
  { name: 'the matrix of 6,790 series', view: 'view=coverage', shows: 'failed', elements: 400 },
  { name: 'twelve lines', view: lines, shows: 'Numbers', elements: 600 },
  { name: 'their hundred headlines', view: `${lines}&at=2025-06-10`, shows: 'Headline 99', elements: 2_500 },
  { name: 'the heat map of 70 topics', view: `${lines}&show=heat`, shows: 'positive', elements: 600 },
];

// What opening a view costs takes longer on a slower machine. These do not, and it follows from them.
describe.skipIf(!browserPath)('what a browser has to do to show', { timeout: 120_000 }, () => {
  it.each(views)('$name: few elements, requests and bytes', async ({ view, shows, elements }) => {
    await using tab = await aTab(built.browser);
    const { page } = tab;
    await answerWithAllPairs(page);
    await answerWith(page, answers);
    let asked = 0;
    page.on('request', () => {
      asked += 1;
    });
    await page.goto(`${built.served.url}/?${view}`);
    await page.getByText(shows).first().waitFor();
    await tab.quiet();
    const made = (await page.evaluate("document.querySelectorAll('*').length")) as number;
    const sent = (await page.evaluate(
      "performance.getEntriesByType('resource').filter(({ name }) => !name.includes('/api/')).reduce((sum, one) => sum + one.encodedBodySize, 0)",
    )) as number;
    expect(made).toBeLessThan(elements);
    expect(asked).toBeLessThan(20);
    // Compressed, with what is loaded when the view is first shown.
    expect(sent).toBeGreaterThan(10_000);
    expect(sent).toBeLessThan(300_000);
    expect(tab.complaints).toEqual([]);
  });
});
