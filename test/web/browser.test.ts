import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { inPackage } from '../../src/package.ts';
import { Secret } from '../../src/secret.ts';
import { aJob, runBackfill } from '../support/run-backfill.ts';
import { aWarehouse } from '../support/test-warehouse.ts';
import { aTab, axeFindings, browserPath, expectToFit } from './a-browser.ts';
import { aLoadedPage, aPage } from './a-page.ts';

const period = { start_date: '2026-09-01', end_date: '2026-10-31' };
const hostile = '<img src=x onerror="document.title=`hacked`"> & "quoted"';
const built = { page: inPackage('dist/page') };

let loaded: Awaited<ReturnType<typeof aLoadedPage>>;

beforeAll(async () => {
  if (!browserPath) return;
  loaded = await aLoadedPage();
  const { warehouse } = loaded;
  await sql`update gmsi.windows set last_error = ${hostile} where state = 'failed'`.execute(warehouse.db);
  // The text that the service sends, and a version that came before.
  await sql`
    update gmsi.headlines set headline = ${hostile}, url = 'javascript:alert(1)', changed_at = now() + interval '1 second'
    where (country, topic) = ('US', 'Inflation-Food') and published_at >= '2026-10-31'`.execute(warehouse.db);
});

afterAll(() => loaded?.[Symbol.asyncDispose]());

const looks = [
  { name: '1600 px, light', viewport: { width: 1600, height: 1000 }, colorScheme: 'light' },
  { name: '360 px, dark', viewport: { width: 360, height: 740 }, colorScheme: 'dark' },
] as const;
const series = 'country=US&topic=Inflation-Food';
const days = 'from=2026-09-01&to=2026-10-31';

/** Each view, and a text that it shows once it has drawn what there is. */
const views = [
  { view: `view=coverage&${days}`, shows: /failed/ },
  { view: `view=coverage&${days}&country=NO&topic=Inflation-Food`, shows: /gmsi backfill test/ },
  { view: 'view=runs', shows: /Last loads/ },
  { view: `view=sentiment&${series}&${days}`, shows: /headlines/ },
  { view: `view=sentiment&show=map&topic=Inflation-Food&${days}`, shows: /Norway/ },
  { view: `view=sentiment&show=heat&${series}&${days}`, shows: /Inflation-Food/ },
];

describe.skipIf(!browserPath)('the page', { timeout: 120_000 }, () => {
  it.each(looks.flatMap((look) => views.map((one) => ({ ...look, ...one }))))(
    'at $name: $view',
    async ({ view, shows, viewport, colorScheme }) => {
      await using tab = await aTab(loaded.browser, { viewport, colorScheme });
      await tab.page.goto(`${loaded.served.url}/?${view}`);
      await tab.page.getByText(shows).first().waitFor();
      await tab.page.waitForLoadState('networkidle').catch(() => {});
      await expectToFit(tab.page);
      expect(await axeFindings(tab.page)).toEqual([]);
      expect(tab.complaints).toEqual([]);
      expect(await tab.page.title()).not.toContain('hacked');
    },
  );

  it.each(['coverage', 'runs', 'sentiment'])('says what to do if nothing is loaded: %s', async (view) => {
    await using empty = await aWarehouse();
    await using page = await aPage(empty.db, built);
    await using tab = await aTab(loaded.browser);
    await tab.page.goto(`${page.url}/?view=${view}`);
    await tab.page
      .getByText(/npx gmsi/)
      .first()
      .waitFor();
    expect(await axeFindings(tab.page)).toEqual([]);
    expect(tab.complaints).toEqual([]);
  });

  it('says that the server does not answer, and keeps what it has shown', async () => {
    const page = await aPage(loaded.warehouse.db, built);
    await using tab = await aTab(loaded.browser);
    await tab.page.goto(`${page.url}/?view=coverage&${days}`);
    await tab.page
      .getByText(/covered/)
      .first()
      .waitFor();
    await page[Symbol.asyncDispose]();
    await tab.page.getByText('not live').waitFor();
    await tab.page.getByRole('button', { name: '30 d' }).click();
    await tab.page
      .getByText(/does not answer/)
      .first()
      .waitFor();
  });

  it('goes by its address: keys, back and forward, and a link that is sent to somebody', async () => {
    await using tab = await aTab(loaded.browser);
    const { page } = tab;
    await page.goto(`${loaded.served.url}/?view=coverage&${days}`);
    await page.getByRole('heading', { name: 'Coverage' }).waitFor();
    await page.keyboard.press('2');
    await page.getByRole('heading', { name: 'Runs' }).waitFor();
    expect(page.url()).toContain('view=runs');
    await page.goBack();
    await page.getByRole('heading', { name: 'Coverage' }).waitFor();
    await page.goForward();
    await page.getByRole('heading', { name: 'Runs' }).waitFor();
    await using other = await aTab(loaded.browser);
    await other.page.goto(page.url());
    await other.page.getByRole('heading', { name: 'Runs' }).waitFor();
  });

  it('shows text of the service as text, and follows no address but of the web', async () => {
    await using tab = await aTab(loaded.browser);
    const { page } = tab;
    await page.goto(`${loaded.served.url}/?view=coverage&${days}&country=NO&topic=Inflation-Food`);
    await page.getByText(hostile).first().waitFor();
    await page.goto(`${loaded.served.url}/?view=sentiment&${series}&${days}&at=2026-10-31`);
    await page.getByText(hostile).first().waitFor();
    expect(await page.locator('a[href^="javascript"]').count()).toBe(0);
    expect(await page.locator('img').count()).toBe(0);
    expect(await page.title()).not.toContain('hacked');
    expect(tab.complaints).toEqual([]);
  });

  it('draws anew when the warehouse changes, without being asked to', async () => {
    await using changing = await aWarehouse();
    await using page = await aPage(changing.db, built);
    await runBackfill({
      job: aJob({ ...period, countries: ['US'], topics: ['Inflation-Food'] }),
      db: changing.db,
      sandbox: loaded.sandbox,
    });
    await using tab = await aTab(loaded.browser);
    await tab.page.goto(`${page.url}/?view=runs`);
    const loads = tab.page.getByRole('row').filter({ hasText: 'backfill' });
    await expect.poll(() => loads.count()).toBe(1);
    await runBackfill({
      job: aJob({ ...period, countries: ['NO'], topics: ['Governance/Corruption'] }),
      db: changing.db,
      sandbox: loaded.sandbox,
    });
    await expect.poll(() => loads.count()).toBe(2);
  });

  it('asks for the token, and opens with it', async () => {
    const token = 'a-token-of-thirty-two-characters-or-more';
    await using page = await aPage(loaded.warehouse.db, { ...built, token: new Secret(token) });
    await using tab = await aTab(loaded.browser);
    await tab.page.goto(`${page.url}/?view=runs`);
    const field = tab.page.getByLabel('Token');
    await field.fill('wrong');
    await tab.page.keyboard.press('Enter');
    await tab.page.getByText('This is not the token.').waitFor();
    await field.fill(token);
    await tab.page.keyboard.press('Enter');
    await tab.page.getByRole('heading', { name: 'Last loads' }).waitFor();
    expect(tab.page.url()).not.toContain(token);
    await tab.page.reload();
    await tab.page.getByRole('heading', { name: 'Last loads' }).waitFor();
  });
});
