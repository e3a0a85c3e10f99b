import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startSandbox } from '#sandbox';
import { aJobOf } from '../feeds/cases.ts';
import { runBackfill, usualClock } from '../support/run-backfill.ts';
import { axeFindings, browserPath, expectGoodLooks, type Look, opened } from './a-browser.ts';
import { aBuiltPage } from './a-page.ts';

const period = { start_date: '2026-10-01', end_date: '2026-10-31' };
const chart = (what: string) => `${what} by day, 2026-10-01 to 2026-10-31`;
const views = [
  { query: 'feed=gmsi-index&subject=US', shows: chart('gmsi-index of US') },
  { query: 'feed=regional-index', shows: chart('regional-index of Norway') },
  { query: 'feed=ticker-index&subject=BZ_COM', shows: chart('ticker-index of BZ_COM') },
  { query: 'feed=ticker-event-metrics&subject=BZ_COM', shows: chart('ticker-event-metrics of BZ_COM') },
];

let loaded: Awaited<ReturnType<typeof aBuiltPage>>;

beforeAll(async () => {
  if (!browserPath) return;
  loaded = await aBuiltPage();
  const { db } = loaded.warehouse;
  await using sandbox = await startSandbox({ limits: null, volume: 0.3, clock: usualClock });
  const load = (feed: Parameters<typeof aJobOf>[0], more = {}) =>
    runBackfill({ job: aJobOf(feed, { ...period, ...more }), db, sandbox });
  await load('gmsi-index', { topics: ['Inflation-*', 'Labour Market-*'] });
  await load('regional-index');
  await load('ticker-index');
  await load('ticker-event-metrics');
  await load('ticker-headlines');
  await load('ticker-event-headlines');
  await load('macro-headlines');
  // Gold has only events.
  await load('ticker-events', { tickers: ['BZ_COM', 'GC_COM'] });
});

afterAll(() => loaded?.[Symbol.asyncDispose]());

const open = (query: string, look?: Look) =>
  opened(loaded.browser, `${loaded.served.url}/?view=feeds&${query}`, look);

async function answered(path: string): Promise<unknown[][]> {
  const response = await fetch(`${loaded.served.url}/api/${path}`);
  return ((await response.json()) as { rows: unknown[][] }).rows;
}

const days = 'from=2026-10-01&to=2026-10-31';

describe.skipIf(!browserPath)('feeds', { timeout: 120_000 }, () => {
  it.each(views)('small and dark, wide and light: $query', async ({ query, shows }) => {
    const page = await open(query);
    await page.getByRole('application', { name: shows }).locator('canvas').first().waitFor();
    await expectGoodLooks(page);
  });

  it('draws the coverage of assets across the page, and variants below their topic', async () => {
    const page = await opened(loaded.browser, `${loaded.served.url}/?view=pipeline&feed=ticker-events`);
    const grid = page.getByRole('grid');
    await expect.poll(async () => (await grid.boundingBox())?.width).toBeGreaterThan(1_200);
    await page.goto(`${loaded.served.url}/?view=pipeline&feed=gmsi-index`);
    await grid.locator('[scope=colgroup]', { hasText: 'Inflation-Food' }).waitFor();
    const titles = await grid.locator('[scope=col]').allInnerTexts();
    expect(titles.slice(0, 4)).toEqual(['directional', 'semantic', 'directional', 'semantic']);
  });

  it('draws the twelve lines with the most headlines, and others that are chosen', async () => {
    const page = await open('feed=gmsi-index&subject=US');
    const counts = new Map<string, number>();
    for (const [topic, match, variant, , , , count] of await answered(
      `index?feed=gmsi-index&subject=US&${days}`,
    )) {
      const name = `${topic} ${match} ${String(variant).replace(/sentiment_type=|_sentiment/g, '')}`;
      counts.set(name, (counts.get(name) ?? 0) + Number(count));
    }
    const names = [...counts.keys()].toSorted((a, b) => counts.get(b)! - counts.get(a)!);
    const field = page.getByRole('combobox', { name: 'Lines' });
    const drawn = page.locator('.lines-legend .name');
    await expect.poll(() => drawn.count()).toBe(12);
    const shown = (await drawn.allInnerTexts()).map((text) => text.replace(' · ', ' COMBINED '));
    expect(Math.min(...shown.map((name) => counts.get(name)!))).toBe(counts.get(names[11]!));
    const last = names.at(-1)!;
    await field.fill(last);
    await page.keyboard.press('Enter');
    await expect.poll(() => drawn.allInnerTexts()).toContain(last.replace(' COMBINED ', ' · '));
    expect(await drawn.count()).toBe(12);
    expect(new URL(page.url()).searchParams.getAll('line')).toContain(last);
  });

  it('leads from a point of the index of a country to the headlines behind it', async () => {
    const page = await open('feed=gmsi-index&subject=US&line=Inflation-Food+COMBINED+directional');
    await page.getByRole('application').focus();
    for (const key of ['End', 'Enter']) await page.keyboard.press(key);
    const link = page.getByRole('link', { name: 'Headlines of Sat 2026-10-31' });
    const { searchParams: to } = new URL((await link.getAttribute('href'))!, page.url());
    expect([to.get('view'), to.get('country'), to.get('topic'), to.get('at')]).toEqual([
      'explore',
      'US',
      'Inflation-Food',
      '2026-10-31',
    ]);
  });

  it('hatches the days that are not loaded', async () => {
    const page = await open('feed=regional-index&from=2026-09-01&to=2026-10-31');
    await page.getByText('30 days not loaded').first().waitFor();
  });

  it('lists events and headlines below the index of an asset, of a day if one is open', async () => {
    const page = await open('feed=ticker-index&subject=BZ_COM&kind=event');
    const rows = page.getByRole('region', { name: 'News', exact: true }).locator('tbody tr');
    const events = await answered(`news?subject=BZ_COM&kind=event&${days}&limit=1000`);
    expect(events.length).toBeGreaterThan(3);
    expect(events.every(([kind]) => kind === 'event')).toBe(true);
    await expect.poll(() => rows.count()).toBe(Math.min(50, events.length));
    const day = String(events[0]![1]).slice(0, 10);
    await page.getByRole('application').focus();
    await page.keyboard.press('End');
    for (let back = 31 - Number(day.slice(8)); back > 0; back -= 1) await page.keyboard.press('ArrowLeft');
    const ofDay = events.filter(([, at]) => String(at).startsWith(day));
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: day }).waitFor();
    await expect.poll(() => rows.count()).toBe(ofDay.length);
    await page.getByRole('button', { name: 'Whole period' }).click();
    await expect.poll(() => rows.count()).toBe(Math.min(50, events.length));
  });

  it('shows the news alone of an asset that has no index, found by typing', async () => {
    const page = await open('feed=ticker-events');
    const gold = page.locator('datalist option[value=GC_COM]', { hasText: 'Gold' });
    await gold.waitFor({ state: 'attached' });
    await page.getByRole('combobox', { name: 'Asset' }).fill('gold');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'News of GC_COM' }).waitFor();
    await page
      .getByText(/^Gold: /)
      .first()
      .waitFor();
    expect(await page.getByRole('application').count()).toBe(0);
    expect(await axeFindings(page)).toEqual([]);
  });

  it('lists the macro headlines of a country', async () => {
    const page = await open('feed=macro-headlines');
    await page.getByRole('heading', { name: 'News of Norway' }).waitFor();
    const news = await answered(`news?subject=Norway&kind=macro%20headline&${days}&limit=1000`);
    expect(news.length).toBeGreaterThan(3);
    expect(news.every(([kind, at]) => kind === 'macro headline' && String(at) <= String(news[0]![1]))).toBe(
      true,
    );
    const rows = page.getByRole('region', { name: 'News', exact: true }).locator('tbody tr');
    await expect.poll(() => rows.count()).toBe(Math.min(50, news.length));
    expect(await page.getByRole('group', { name: 'Kind' }).count()).toBe(0);
    expect(await axeFindings(page)).toEqual([]);
  });
});
