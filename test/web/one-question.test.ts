import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { browserPath, countOf, opened, shown } from './a-browser.ts';
import { aLoadedPage } from './a-page.ts';

let loaded: Awaited<ReturnType<typeof aLoadedPage>>;

beforeAll(async () => {
  if (browserPath) loaded = await aLoadedPage();
});
afterAll(() => loaded?.[Symbol.asyncDispose]());

const days = 'from=2026-09-01&to=2026-10-31';
const food = `topic=Inflation-Food&${days}`;

/** A view, what it shows, another question, the answer that is late, and what is no part of it. */
const views = [
  {
    what: 'lines',
    view: `view=sentiment&country=US&${food}`,
    shows: /Largest move|headlines ·|· [\d,]+ headlines/,
    other: `view=sentiment&country=US&topic=Governance/Corruption&${days}`,
    late: /api\/sentiment\?/,
    stays: /^$/,
  },
  {
    what: 'changes',
    view: `view=changes&country=US&${food.replace('09-01', '10-15')}`,
    shows: 'Raised the mean',
    other: `view=changes&country=US&topic=Inflation-Food&from=2026-10-01&to=2026-10-10`,
    late: /api\/sentiment\/changes\?/,
    stays: /^$/,
  },
  {
    what: 'stories of changes',
    view: `view=changes&country=US&${food.replace('09-01', '10-15')}`,
    shows: 'Raised the mean',
    other: `view=changes&country=US&topic=Inflation-Food&from=2026-10-01&to=2026-10-10`,
    late: /api\/sentiment\/changes\/stories/,
    stays: /^$/,
  },
  {
    what: 'headlines',
    view: `view=sentiment&country=US&${food}&at=2026-10-20`,
    shows: /^Headlines of Tue 2026-10-20/,
    other: `view=sentiment&country=US&${food}&at=2026-10-27`,
    late: /api\/headlines\?/,
    // The chart is of the same question.
    stays: /sentiment/i,
  },
  {
    what: 'coverage',
    view: `view=pipeline&${days}`,
    shows: /series complete/,
    other: `view=pipeline&from=2026-10-15&to=2026-10-31`,
    late: /api\/coverage\?/,
    stays: /^$/,
  },
] as const;

const go = (page: Page, query: string) =>
  page.evaluate(`history.pushState(null, '', '?${query}'); dispatchEvent(new PopStateEvent('popstate'))`);

/** What is said of pictures: titles, and where links and files come from, without those of what is fixed. */
const said = async (page: Page): Promise<string[]> =>
  page.evaluate(`[...document.querySelectorAll('main :is(h2, .headline p, dialog[aria-label=Share] a, .chart [aria-label])')]
    .filter((one) => one.checkVisibility({ visibilityProperty: true }))
    .map((one) => [one.textContent, one.getAttribute('href'), one.ariaLabel].join(' '))`);

describe.skipIf(!browserPath)('a picture is of one question', { timeout: 60_000 }, () => {
  it.each(views)(
    '$what: what is said stays with the old picture, and both go if the next fails',
    async (one) => {
      const page = await opened(loaded.browser, `${loaded.served.url}/?${one.view}`);
      await shown(page, one.shows);
      await page.quiet();
      const before = await said(page);
      let fail = () => {};
      const failed = new Promise<void>((resolve) => {
        fail = resolve;
      });
      await page.route(one.late, async (route) => {
        await failed;
        await route.fulfill({ status: 503, json: { error: 'It took too long.', hint: 'Ask for less.' } });
      });
      const late = page.waitForRequest(one.late);
      await go(page, one.other);
      await late;
      const stale = page.locator('.stale');
      await stale.waitFor();
      expect((await said(page)).filter((text) => !before.includes(text))).toEqual([]);
      // Neither a file of the old answer nor its picture.
      await countOf(stale.locator('.share:visible')).toBe(0);
      fail();
      await shown(page, 'It took too long.');
      await countOf(stale).toBe(0);
      const isOld = (text: string) => before.includes(text) && /\d{4}-\d\d-\d\d|rose|fell/.test(text);
      expect((await said(page)).filter((text) => isOld(text) && !one.stays.test(text))).toEqual([]);
      await page.unrouteAll({ behavior: 'ignoreErrors' });
    },
  );

  it('stories of a point are of the model that is named with them, in their numbers, SQL and CSV', async () => {
    const page = await opened(loaded.browser, 'about:blank');
    const asked = page.waitForRequest(/api\/sentiment\/changes\/stories\?.*model=semantic/);
    const view = `view=sentiment&country=US&${food}&at=2026-10-20&pane=stories&model=semantic`;
    await page.goto(`${loaded.served.url}/?${view}`);
    expect(new URL((await asked).url()).searchParams.get('model')).toBe('semantic');
    const panel = page.getByRole('region', { name: 'Stories behind the move' });
    await shown(page, /Mean semantic score, from −1 to \+1/);
    await panel.getByRole('button', { name: 'Share', exact: true }).click();
    for (const name of ['Exact SQL', 'CSV']) {
      const href = await panel.getByRole('link', { name, exact: true }).getAttribute('href');
      expect(new URLSearchParams(href!.split('?')[1]).get('model')).toBe('semantic');
    }
  });

  it.each(['sentiment', 'changes', 'feeds'])(
    'with the warehouse gone, %s says so, and does not ask for ever',
    async (view) => {
      const page = await opened(loaded.browser, 'about:blank');
      await page.route(/api\/(?!state)/, (route) =>
        route.fulfill({ status: 503, json: { error: 'The warehouse does not answer.', hint: 'Try again.' } }),
      );
      await page.goto(`${loaded.served.url}/?view=${view}`);
      await shown(page, 'The warehouse does not answer.');
      await countOf(page.locator('.waiting')).toBe(0);
    },
  );
});
