import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { sql } from 'kysely';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type Sandbox, startSandbox } from '#sandbox';
import { inPackage } from '../../src/package.ts';
import { Secret } from '../../src/secret.ts';
import { countedAs, monthOf } from '../../src/service/budget.ts';
import { registered } from '../support/a-worker.ts';
import { aJob, runBackfill } from '../support/run-backfill.ts';
import { scoredBy } from '../support/scored-by.ts';
import { aWarehouse } from '../support/test-warehouse.ts';
import { ageWindowsIn, aWindowIn, changeWindowsIn, sqlIn, uncoverIn } from '../support/warehouse-state.ts';
import {
  asked,
  axeFindings,
  browserPath,
  countOf,
  expectFocus,
  expectGoodLooks,
  goAsOf,
  type Look,
  opened,
  shown,
  textOf,
} from './a-browser.ts';
import { aBuiltPage, aLoadedPage, aPage, clock } from './a-page.ts';

const period = { start_date: '2026-09-01', end_date: '2026-10-31' };
const hostile = '<img src=x onerror="document.title=`hacked`"> & "quoted"';
const built = { page: inPackage('dist/page') };

let loaded: Awaited<ReturnType<typeof aLoadedPage>>;

beforeAll(async () => {
  if (!browserPath) return;
  loaded = await aLoadedPage();
  const { warehouse } = loaded;
  await changeWindowsIn(warehouse.db, { last_error: hostile }, { state: 'failed' });
  // So that the slider of past moments has room.
  await ageWindowsIn(warehouse.db, '1 hour');
  // The text that the service sends, and a version that came before.
  await sqlIn(warehouse.db)`
    update gmsi.headlines set headline = ${hostile}, url = 'javascript:alert(1)', changed_at = now() + interval '1 second'
    where (country, topic) = ('US', 'Inflation-Food') and published_at >= '2026-10-31'`;
  await sqlIn(
    warehouse.db,
  )`insert into gmsi.countries (country, name) values ('NO', 'Norway'), ('US', 'United States'), ('GB', 'United Kingdom'), ('UA', 'Ukraine')
            on conflict (country) do update set name = excluded.name`;
  await sqlIn(
    warehouse.db,
  )`insert into gmsi.topics (topic, category) values ('Inflation-Food', 'Prices'), ('Governance/Corruption', 'Prices')
            on conflict (topic) do update set category = excluded.category`;
});

afterAll(() => loaded?.[Symbol.asyncDispose]());

const narrow = { viewport: { width: 360, height: 740 }, colorScheme: 'dark' } as const;
const days = 'from=2026-09-01&to=2026-10-31';
const series = `country=US&topic=Inflation-Food&${days}`;

/** Each view, and a text that it shows once it has drawn what there is. */
const views = [
  { view: 'to=2026-10-31', shows: 'World' },
  { view: `view=pipeline&${days}`, shows: /windows? failed/ },
  {
    view: `view=pipeline&${days}&country=NO&topic=Inflation-Food`,
    shows: 'Missing days of NO Inflation-Food',
  },
  // Of an earlier page, which had a heat map.
  { view: `view=sentiment&show=heat&${series}&at=2026-10-20`, shows: /^Headlines of/ },
  { view: 'view=changes&of=country&to=2026-10-20', shows: 'US United States' },
  { view: 'view=changes&country=US&topic=Inflation-Food&from=30d&to=2026-10-20', shows: 'Raised the mean' },
];

async function open(query: string, shows: string | RegExp, look?: Look, url = loaded.served.url) {
  const page = await opened(loaded.browser, `${url}/?${query}`, look);
  await shown(page, shows);
  await page.quiet();
  return page;
}

/** What can be used, or scrolled, in the order of the page. */
const controls = `window.controls = [...document.querySelectorAll(
  'a[href], button, input, select, summary, [tabindex="0"], [role="application"], .scroll')].filter((one) => !one.disabled && one.checkVisibility())`;

/** Which of them has the focus, whether that is seen, and whether something hides it. */
const focused = `(() => {
  const one = document.activeElement;
  const { left, right, top, bottom } = one.getBoundingClientRect();
  const middle = (from, to, most) => (Math.max(0, from) + Math.min(most, to)) / 2;
  const above = document.elementFromPoint(middle(left, right, innerWidth), middle(top, bottom, innerHeight));
  const { outlineStyle, outlineWidth } = getComputedStyle(one);
  return {
    index: window.controls.indexOf(one),
    isSeen: outlineStyle !== 'none' && parseFloat(outlineWidth) >= 1,
    isFree: above !== null && (one.contains(above) || above.contains(one)),
  };
})()`;

interface Focused {
  readonly index: number;
  readonly isSeen: boolean;
  readonly isFree: boolean;
}

/** What a pointer can click and no key can. */
const outOfReach = `[...document.querySelectorAll('main *')].filter((one) => getComputedStyle(one).cursor === 'pointer'
  && !one.closest('a, button, input, select, summary, label, [tabindex="0"], [role=grid]:has([tabindex="0"])')).map((one) => one.outerHTML)`;

/** Whether Tab reaches all there is to use, and one sees where it is. */
async function expectTabToReachAll(page: Page): Promise<void> {
  await page.evaluate(controls);
  const names = (await page.evaluate(
    "controls.map((one) => (one.ariaLabel ?? one.textContent ?? '').slice(0, 60) + ' ' + one.tagName)",
  )) as string[];
  const [reached, unseen, hidden] = [new Set<number>(), new Set(names), new Set<string>()];
  for (let presses = 0; presses < 2 * names.length + 40 && reached.size < names.length; presses++) {
    await page.keyboard.press('Tab');
    const { index, isSeen, isFree } = (await page.evaluate(focused)) as Focused;
    if (index < 0) continue;
    reached.add(index);
    // Of a field with parts, the browser marks some within.
    if (isSeen) unseen.delete(names[index]!);
    if (!isFree) hidden.add(names[index]!);
  }
  expect(names.filter((_, index) => !reached.has(index))).toEqual([]);
  expect([...unseen]).toEqual([]);
  expect([...hidden]).toEqual([]);
  expect(await page.evaluate(outOfReach)).toEqual([]);
}

describe.skipIf(!browserPath)('the page', { timeout: 120_000 }, () => {
  it.each(views)('small and dark, wide and light, there by Tab as well: $view', async ({ view, shows }) => {
    const page = await open(view, shows, narrow);
    await expectGoodLooks(page);
    await expectTabToReachAll(page);
    expect(await page.title()).not.toContain('hacked');
  });

  it('says what to do if nothing is loaded, in each view', async () => {
    await using empty = await aWarehouse();
    await using served = await aPage(empty.db, built);
    const page = await opened(loaded.browser, served.url);
    for (const view of ['briefing', 'sentiment', 'changes', 'feeds', 'pipeline']) {
      await page.goto(`${served.url}/?view=${view}`);
      await shown(page, /npx gmsi/);
      // No dead end: it leads to what may be loaded.
      if (view === 'feeds') await page.getByRole('button', { name: 'Lines' }).waitFor();
      expect(await axeFindings(page), view).toEqual([]);
    }
  });

  it('says that the server does not answer, and keeps what it has shown', async () => {
    const served = await aPage(loaded.warehouse.db, built);
    const page = await open(`view=pipeline&${days}`, /covered/, undefined, served.url);
    await served[Symbol.asyncDispose]();
    await page.getByText('not live').waitFor();
    await page.getByRole('button', { name: /^Period/ }).click();
    await page.getByRole('button', { name: '30 d' }).click();
    await shown(page, /does not answer/);
  });

  it('goes by its address: keys, back and forward, and a link that is sent to somebody', async () => {
    // A link of an earlier page.
    const page = await opened(loaded.browser, `${loaded.served.url}/?view=coverage&${days}`);
    const shows = (name: string) => page.getByRole('heading', { name, level: 1 }).waitFor();
    await shows('Pipeline');
    await page.keyboard.press('1');
    await shows('Briefing');
    expect(page.url()).toContain('view=briefing');
    await page.goBack();
    await shows('Pipeline');
    await page.goForward();
    await shows('Briefing');
    const other = await opened(loaded.browser, page.url());
    await other.getByRole('heading', { name: 'Briefing' }).waitFor();
  });

  it('says in three clicks what moved a country, and in stories whose parts add up', async () => {
    const page = await open('view=pipeline', 'Last loads');
    await page.getByRole('link', { name: 'Explore' }).click();
    await page.getByRole('button', { name: 'Changes' }).click();
    const country = page.getByRole('combobox', { name: 'Countries' });
    await page.locator('datalist option[value=GB]').waitFor({ state: 'attached' });
    await country.focus();
    await page.keyboard.type('nowhere');
    await page.keyboard.press('Enter');
    await page.getByRole('alert').getByText('Nothing in the list is called "nowhere".').waitFor();
    for (const [typed, name] of [
      ['uk', 'United Kingdom'],
      ['us', 'United States'],
    ]) {
      await country.fill(typed!);
      await page.keyboard.press('Enter');
      await expect.poll(() => country.inputValue()).toBe('');
      await page.getByRole('button', { name: `${name}, chosen` }).waitFor();
    }
    await page.getByRole('button', { name: 'United Kingdom, chosen' }).click();
    await page.getByRole('combobox', { name: 'Topics' }).focus();
    await page.keyboard.type('infl');
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: /^Period/ }).click();
    await page.getByRole('button', { name: '30 d' }).click();
    await page.keyboard.press('Escape');
    await expect.poll(() => asked(page, 'from')).toBe('30d');
    await countOf(page.locator('.stale')).toBe(0);
    const title = page.getByRole('heading', {
      name: /^United States · Inflation-Food: sentiment (rose|fell) by 0\.\d{3}$/,
    });
    await title.waitFor();
    await page.getByRole('columnheader', { name: 'Lowered the mean' }).waitFor();
    const move = Number(/(rose|fell) by (.*)/.exec(await title.innerText())![2]);
    const sum = /all stories together [+−](\S+), the move/i.exec(await page.locator('main').innerText())![1];
    expect(Number(sum)).toBeCloseTo(move, 2);
    expect(await axeFindings(page)).toEqual([]);
    await page.getByRole('link', { name: 'United States · Inflation-Food as a line' }).click();
    await page.getByRole('application', { name: /^Sentiment by day, 2026-07-04 to 2026-10-31/ }).waitFor();
  });

  it('chooses the loaded topics of a category at once', async () => {
    const page = await open(`view=sentiment&${series}`, /headlines/);
    const group = page.locator('datalist option[value=Prices]');
    await expect.poll(() => group.textContent()).toBe('all 2 that are loaded');
    await page.getByRole('combobox', { name: 'Topics' }).fill('Prices');
    await page.keyboard.press('Enter');
    const chosen = () => new URL(page.url()).searchParams.getAll('topic').toSorted();
    await expect.poll(chosen).toEqual(['Governance/Corruption', 'Inflation-Food']);
  });

  it('leads from a country that changed to its topics, and explains scores in the words of the service', async () => {
    const page = await open('view=changes&of=country&to=2026-10-20', 'US United States');
    await page.getByRole('link', { name: 'US United States' }).click();
    await expect
      .poll(async () => (await page.locator('.news td:nth-child(2)').allInnerTexts()).toSorted())
      .toEqual(['Governance/Corruption', 'Inflation-Food']);
    await page.goto(`${loaded.served.url}/?view=sentiment&${series}&at=2026-10-20`);
    await page.getByRole('heading', { name: /^Headlines of/ }).waitFor();
    const rule = page.getByText(
      /directional, positive: likely more of .* which wins: Positive when the headline says/,
    );
    expect(await rule.isVisible()).toBe(false);
    await page.getByText('What the scores mean').click();
    await rule.waitFor();
    expect(await axeFindings(page)).toEqual([]);
  });

  it('says of a chart what is seen, and what its largest move was', async () => {
    const page = await open(
      `view=sentiment&${series}`,
      /Largest move in standard errors: [+−]0\.\d\d, z [+−]\d\.\d \(\w+ 2026-\d\d-\d\d\)(, \d+% by “.*”)?\.( |$)/,
    );
    const title = 'United States · Inflation-Food: sentiment by day, 2026-09-01 to 2026-10-31';
    await page.getByRole('heading', { name: title }).waitFor();
    await page.getByText('Mean directional score of the headlines: +1').waitFor();
  });

  it('counts headlines that say the same as one story', async () => {
    const page = await open(`view=sentiment&${series}&at=2026-10-31&pane=stories`, hostile);
    const rows = await sqlIn(loaded.warehouse.db)<{
      count: number;
    }>`select count(*)::int as count from gmsi.headlines
      where (country, topic, match_type) = ('US', 'Inflation-Food', 'COMBINED') and published_at >= '2026-10-31'
        and published_at < '2026-11-01' and retracted_at is null`;
    expect(rows[0]!.count).toBeGreaterThan(1);
    const stories = page.getByText(hostile);
    expect(await stories.count()).toBe(1);
    await page.getByText(`now ${rows[0]!.count} ×`).waitFor();
  });

  it('stays where one has scrolled to when the chart of an open point changes', async () => {
    const page = await open(`view=sentiment&${series}&at=2026-10-20`, /^Headlines of/, {
      viewport: { width: 800, height: 600 },
    });
    // The page has scrolled to the headlines, which are below the chart.
    await expect.poll(() => page.evaluate('scrollY')).toBeGreaterThan(0);
    await page.evaluate('scrollTo(0, 0)');
    await goAsOf(page, new Date().toISOString());
    await page.getByText('Large dots: what changed.').waitFor();
    await page.quiet();
    expect(await page.evaluate('scrollY')).toBe(0);
  });

  it('shows text of the service as text, and follows no address but of the web', async () => {
    const page = await open(`view=pipeline&${days}&country=NO&topic=Inflation-Food`, hostile);
    await page.goto(`${loaded.served.url}/?view=sentiment&${series}&at=2026-10-31`);
    await shown(page, hostile);
    await page.getByText('1 earlier version').first().click();
    await page.getByRole('region', { name: 'Versions' }).locator('mark').first().waitFor();
    expect(await page.locator('a[href^="javascript"]').count()).toBe(0);
    expect(await page.locator('img').count()).toBe(0);
    expect(await page.title()).not.toContain('hacked');
  });

  it('gives a shell nothing but the name of a job to copy', async () => {
    await using odd = await aWarehouse();
    await using served = await aPage(odd.db, built);
    await sqlIn(odd.db)`
      insert into gmsi.loads (load_id, command, job, feed, run_by) overriding system value
      values (900, 'backfill', ${"a'\n touch x\u001b[2J\n"}, 'gmsi-headlines', 'x')`;
    await aWindowIn(odd.db, '2025-01-01', '2025-01-31', { state: 'failed', last_error: 'x', load_id: 900 });
    const page = await open('view=pipeline', '1 window failed', undefined, served.url);
    const label = await page
      .getByRole('button', { name: /^Copy npx gmsi backfill/ })
      .getAttribute('aria-label');
    expect(label).toBe(`Copy npx gmsi backfill "a' touch x[2J"`);
  });

  it('asks for the token, and opens with it', async () => {
    const token = 'a-token-of-thirty-two-characters-or-more';
    await using served = await aPage(loaded.warehouse.db, { ...built, token: new Secret(token) });
    const page = await opened(loaded.browser, served.url);
    const field = page.getByLabel('Token');
    await field.fill('wrong');
    await page.keyboard.press('Enter');
    await page.getByText('This is not the token.').waitFor();
    await field.fill(token);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'World' }).waitFor();
    expect(page.url()).not.toContain(token);
    await page.reload();
    await page.getByRole('heading', { name: 'World' }).waitFor();
  });
});

describe.skipIf(!browserPath)('a feed that is watched', { timeout: 120_000 }, () => {
  it('has what the service rescored in Changes', async () => {
    await using built = await aBuiltPage();
    await using sandbox = await startSandbox({ limits: null, volume: 0.3, clock });
    const { db } = built.warehouse;
    const run = { job: aJob(period), db, sandbox };
    await runBackfill({ ...run, aroundPage: scoredBy('3.1') });
    const plan = { fullRefresh: true, retryRefused: false };
    const { totals, loadId } = await runBackfill({ ...run, plan, aroundPage: scoredBy('3.2') });
    await sqlIn(db)`update gmsi.loads set started_at = started_at - interval '1 day'`;

    const look = { viewport: { width: 1280, height: 900 } };
    const changes = await open('view=changes&to=2026-10-20', /New scores, not news/, look, built.served.url);
    const all = totals.records.toLocaleString('en-US');
    await expect(changes.locator('.problem').innerText()).resolves.toMatch(
      new RegExp(
        `rescored ${all} of ${all} headlines that load ${loadId} \\(test, .*published 2026-09-01 to 2026-11-01, from model version 3.1 to 3.2\\.`,
      ),
    );
    await expectGoodLooks(changes);
    await changes.getByRole('link', { name: 'Compare as it was known before' }).click();
    await countOf(changes.getByText('New scores, not news')).toBe(0);
    expect(new URL(changes.url()).searchParams.get('as_of')).toMatch(/^\d{4}-\d\d-\d\dT.*Z$/);
  });
});

describe.skipIf(!browserPath)('a table', { timeout: 120_000 }, () => {
  it('is sorted by a click on a title, and turned round by a second one, as its address says', async () => {
    const page = await open(`view=sentiment&${series}`, 'Numbers');
    await page.getByText('Numbers').click();
    const table = page.getByRole('region', { name: 'Numbers' });
    const means = async () =>
      (await table.locator('td[data-title$=" directional"]').allInnerTexts())
        .filter((text) => text !== '–')
        .map((text) => Number(text.replace('−', '-')));
    const title = table.getByRole('button', { name: / directional/ });
    await title.click();
    await expect
      .poll(async () => (await means()).every((mean, index, all) => mean <= (all[index - 1] ?? 1)))
      .toBe(true);
    await title.click();
    await table
      .getByRole('columnheader', { name: / directional/ })
      .and(table.locator('[aria-sort=ascending]'))
      .waitFor();
    expect((await means()).every((mean, index, all) => mean >= (all[index - 1] ?? -1))).toBe(true);
    expect(new URL(page.url()).searchParams.get('numbers')).toMatch(/^-.* directional$/);
  });
});

describe.skipIf(!browserPath)('by pointer', { timeout: 120_000 }, () => {
  const chart = (page: Page) => page.locator('.u-over').first();
  /** A place in the chart, as a share of its width. */
  async function placeAt(page: Page, share: number) {
    // It is made anew when an answer arrives.
    const { x, y, width, height } = await vi.waitFor(async () => {
      const box = await chart(page).boundingBox();
      if (!box) throw new Error('no chart');
      return box;
    });
    return [x + width * share, y + height / 2] as const;
  }

  it('a click on a point keeps the read-out at it, and lists its headlines', async () => {
    const page = await open(`view=sentiment&${series}`, /headlines/);
    await chart(page).waitFor();
    await page.mouse.move(...(await placeAt(page, 0.3)));
    const told = page.locator('.readout strong');
    await textOf(told).toMatch(/2026-09-/);
    const day = await told.innerText();
    await page.mouse.click(...(await placeAt(page, 0.3)));
    await page.getByRole('heading', { name: `Headlines of ${day}` }).waitFor();
    expect(await told.innerText()).toBe(day);
  });

  it('labels hours in the chosen zone and days in UTC, with the larger part where it changes', async () => {
    const labelsOf = async (period: string) => {
      const lines = `view=sentiment&country=US&topic=Inflation-Food&${period}&zone=Asia/Tokyo`;
      const page = await open(lines, /headlines/);
      await page.locator('.u-over').first().waitFor();
      await page.evaluate(`window.labels = new Map();
        const fillText = CanvasRenderingContext2D.prototype.fillText;
        CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
          window.labels.set(text, Math.round(x / devicePixelRatio));
          return fillText.call(this, text, x, y);
        }`);
      await page.setViewportSize({ width: 2000, height: 900 });
      const read = async () => (await page.evaluate('[...window.labels]')) as [string, number][];
      await expect.poll(async () => (await read()).length).toBeGreaterThan(4);
      return new Map(await read());
    };
    // Two days from midnight in UTC, which is 9:00 in Tokyo: the first label is at noon, the next day begins there 12 hours later.
    const hours = await labelsOf('from=2026-10-01&to=2026-10-02&by=hour');
    const [first, second, third] = ['01', '02', '03'].map((day) => hours.get(`2026-10-${day}`)!);
    expect((second! - first!) / (third! - second!)).toBeCloseTo(12 / 24, 1);
    const days = await labelsOf('from=2026-09-01&to=2026-10-31');
    expect(days.get('2026')).toBe(days.get('09-01'));
    // In Tokyo, that day begins before the axis.
    expect(days.get('09-01')).toBeLessThan(first!);
    for (const unit of ['score', 'headlines per day']) expect([...days.keys()]).toContain(unit);
  });

  it('a trailing mean says how many headlines it is of, and a click lists them all', async () => {
    const page = await open(`view=sentiment&${series}&smooth=7`, /headlines/);
    await page.getByRole('application').focus();
    await page.keyboard.press('End');
    for (let presses = 0; presses < 10; presses++) await page.keyboard.press('ArrowLeft');
    const told = page.locator('.readout');
    await textOf(told).toMatch(/2026-10-21.*headlines in 7 days/s);
    await page.keyboard.press('Enter');
    const headlines = page.getByRole('region', { name: 'Headlines of the 7 days up to Wed 2026-10-21' });
    await headlines.getByRole('row').nth(1).waitFor();
    const listed = await headlines.locator('td.time').allInnerTexts();
    expect(await told.innerText()).toContain(`\t${listed.length} headlines in 7 days`);
    const daysOf = listed.map((time) => time.slice(0, 10)).toSorted();
    expect(daysOf[0]! >= '2026-10-15' && daysOf[0]! < '2026-10-21').toBe(true);
    expect(daysOf.at(-1)! <= '2026-10-21').toBe(true);
  });

  it('a drag chooses days, another with Shift what they are compared with, and both can be zoomed into', async () => {
    const page = await open(`view=sentiment&${series}`, /headlines/);
    await chart(page).waitFor();
    await page.mouse.move(...(await placeAt(page, 0.4)));
    await page.mouse.down();
    await page.mouse.move(...(await placeAt(page, 0.6)), { steps: 4 });
    await page.mouse.up();
    const later = /^2026-(09-2\d)\.\.2026-(10-0\d)$/;
    await expect.poll(() => asked(page, 'days')).toMatch(later);
    await page.keyboard.down('Shift');
    await page.mouse.move(...(await placeAt(page, 0.1)));
    await page.mouse.down();
    await page.mouse.move(...(await placeAt(page, 0.2)), { steps: 4 });
    await page.mouse.up();
    await page.keyboard.up('Shift');
    await expect.poll(() => asked(page, 'against')).toMatch(/^2026-09-\d\d\.\.2026-09-1\d$/);
    const [, first, last] = later.exec(asked(page, 'days')!)!;
    const [before, until] = asked(page, 'against')!.split('..');
    const pane = page.getByRole('complementary', { name: 'Behind the chart' });
    await pane
      .getByText(new RegExp(`in 2026-${first} to 2026-${last} .* against .* in ${before} to ${until} `))
      .waitFor();
    expect([asked(page, 'at'), asked(page, 'from')]).toEqual([null, '2026-09-01']);
    await pane.getByRole('button', { name: 'Zoom in' }).click();
    await expect
      .poll(() => [asked(page, 'from'), asked(page, 'to'), asked(page, 'days')])
      .toEqual([`2026-${first}`, `2026-${last}`, null]);
  });

  it('more than four series have a panel each: a click is for its own series, a drag for all', async () => {
    const lists = 'country=US&country=NO&country=DE&topic=Inflation-Food&topic=Governance/Corruption';
    const page = await open(`view=sentiment&${lists}&${days}`, /headlines/);
    await countOf(page.locator('.u-title')).toBe(6);
    const panel = page.locator('.uplot', { hasText: 'NO · Inflation-Food' }).locator('.u-over');
    const { x, y, width, height } = (await panel.boundingBox())!;
    const move = (share: number) => page.mouse.move(x + width * share, y + height / 2, { steps: 3 });
    await move(0.9);
    const told = page.locator('.readout strong');
    await textOf(told).toMatch(/2026-10-/);
    const day = await told.innerText();
    await page.mouse.down();
    await page.mouse.up();
    await page.getByRole('heading', { name: `Headlines of ${day}` }).waitFor();
    expect(asked(page, 'of')).toMatch(/^NO Inflation-Food/);
    await page.goBack();
    await countOf(page.locator('.headlines')).toBe(0);
    await move(0.4);
    await page.mouse.down();
    await move(0.6);
    await page.mouse.up();
    await expect.poll(() => asked(page, 'days')).toMatch(/^2026-\d\d-\d\d\.\.2026-10-\d\d$/);
    await page.goBack();
    await expect.poll(() => asked(page, 'days')).toBeNull();
  });

  it('a choice or a zoom limits no other view, and is still there on the way back', async () => {
    const page = await open(`view=pipeline&${days}`, /failed/);
    await page.getByRole('link', { name: 'Explore' }).click();
    await page.getByRole('button', { name: /^Period/ }).click();
    await page.getByLabel('First day').fill('2026-10-10');
    await page.keyboard.press('Escape');
    await page.getByRole('combobox', { name: 'Countries' }).fill('germany');
    await page.keyboard.press('Enter');
    await expect.poll(() => asked(page, 'country')).not.toBeNull();
    const country = asked(page, 'country');
    await page.getByRole('link', { name: 'Pipeline' }).click();
    await expect.poll(() => page.getByLabel('First day').inputValue()).toBe('2026-09-01');
    expect(asked(page, 'country')).toBeNull();
    await page.getByRole('link', { name: 'Explore' }).click();
    await expect.poll(() => page.getByLabel('First day').inputValue()).toBe('2026-10-10');
    expect(asked(page, 'country')).toBe(country);
  });

  it('leads from a series to its own sentiment, of its match type', async () => {
    await using domestic = await aWarehouse();
    await using served = await aPage(domestic.db, built);
    for (const match_type of ['COMBINED', 'DOMESTIC']) {
      const of = { countries: ['US'], topics: ['Inflation-Food'], match_type };
      await runBackfill({ job: aJob({ ...period, ...of }), db: domestic.db, sandbox: loaded.sandbox });
    }
    const shown = `view=pipeline&feed=gmsi-headlines&match_type=DOMESTIC&${series}`;
    const page = await open(shown, 'its sentiment', undefined, served.url);
    await page.getByRole('link', { name: 'its sentiment' }).click();
    const news = page.getByLabel('Which news counts');
    await expect.poll(() => news.inputValue()).toBe('DOMESTIC');
    await page.getByText(/· [\d,]+ headlines/).waitFor();
    // Or the server ends while the page still fetches what draws it.
    await page.locator('canvas').first().waitFor();
  });
});

/** Pipeline over a warehouse of its own. */
async function aPipeline(files: Readonly<Record<string, object>>) {
  const warehouse = await aWarehouse();
  const served = await aPage(warehouse.db, built);
  await mkdir(join(served.folder, 'jobs'));
  for (const [name, file] of Object.entries(files))
    await writeFile(join(served.folder, 'jobs', `${name}.yaml`), JSON.stringify({ ...food, ...file }));
  const page = await opened(loaded.browser, 'about:blank');
  return {
    db: warehouse.db,
    run: sqlIn(warehouse.db),
    page,
    summary: page.locator('.summary'),
    cause: (about: string | RegExp) => page.locator('.causes tbody tr', { hasText: about }),
    folder: served.folder,
    load: (name: string, sandbox: Pick<Sandbox, 'url'> = loaded.sandbox) => {
      const job = { ...aJob({ ...food, ...files[name] }), name };
      return runBackfill({ job, db: warehouse.db, sandbox }).catch(() => {});
    },
    open: () => page.goto(`${served.url}/?view=pipeline`),
    async [Symbol.asyncDispose]() {
      await served[Symbol.asyncDispose]();
      await warehouse[Symbol.asyncDispose]();
    },
  };
}

const food = { feed: 'gmsi-headlines', countries: ['US'], topics: ['Inflation-Food'], ...period };
const own = countedAs(new Secret('sandbox-key'));
const noAnswer = { state: 'failed', last_error: 'No answer' };

describe.skipIf(!browserPath)('the pipeline', { timeout: 120_000 }, () => {
  it('shows a failed window that no job wants with the command that deletes it', async () => {
    await using pipeline = await aPipeline({ food: {} });
    await pipeline.load('food');
    const unwanted = { topic: 'Wars', state: 'failed', last_error: '503 Service Unavailable' };
    await aWindowIn(pipeline.db, '2025-01-01', '2025-01-31', unwanted);
    await pipeline.open();
    const failed = pipeline.cause('1 window that no job wants');
    await failed.getByText('503 Service Unavailable').waitFor();
    await failed.getByText('npx gmsi check --repair windows').waitFor();
    await textOf(pipeline.summary).toMatch(/^food: good; complete to 2026-10-31; last load /);
  });

  it('says to which day jobs are complete that end on different days, and which is late, though no worker has it', async () => {
    const ended = { countries: ['NO'], start_date: '2026-09-01', end_date: '2026-09-30' };
    await using pipeline = await aPipeline({
      food: { end_date: 'today', alerts: { max_lag: 'P5D' } },
      ended,
    });
    await pipeline.load('food');
    await pipeline.load('ended');
    await uncoverIn(pipeline.db, '{[2026-10-20,)}');
    await pipeline.open();
    await textOf(pipeline.summary).toMatch(/^2 jobs: 1 good, 1 failing; complete to 2026-10-19; last load/);
    const late = pipeline.cause(/food: 31\.\d days late/);
    await late.getByText(/All series are covered up to 2026-10-19; 5 days are allowed/).waitFor();
    await late.getByText('npx gmsi backfill food').waitFor();
  });

  it('groups failures by cause, with one command and its cost for all of them', async () => {
    const countries = ['US', 'NO', 'GB', 'DE'];
    await using pipeline = await aPipeline({
      food: { countries, step: 'P20D', service: { max_attempts: 1 } },
    });
    await using sandbox = await startSandbox({
      limits: null,
      volume: 0.1,
      faults: {
        script: [{ kind: 'server-error', times: 9, match: ({ path }) => /\/(NO|GB|DE)$/.test(path) }],
      },
    });
    await pipeline.load('food', sandbox);
    await pipeline.open();
    const banner = pipeline.page.locator('.causes tbody tr');
    await banner
      .filter({ hasText: /windows failed/ })
      .first()
      .waitFor();
    const rows = await pipeline.run<{ windows: number; countries: number }>`
      select count(*)::int as windows, count(distinct country)::int as countries from gmsi.windows where state = 'failed'`;
    expect(await banner.count()).toBe(1);
    const { windows, countries: failed } = rows[0]!;
    expect(failed).toBeGreaterThan(1);
    await textOf(banner.first()).toMatch(
      new RegExp(
        `food: ${windows} windows failed.*with 5\\d\\d.*${failed} series, such as.*npx gmsi backfill food.*about \\d+ requests`,
        's',
      ),
    );
    await pipeline.page.getByText(`${4 - failed} of 4 requested series complete`).waitFor();
  });

  it('says how to make a first job', async () => {
    await using pipeline = await aPipeline({});
    await pipeline.load('food');
    await pipeline.open();
    await textOf(pipeline.summary).toBe('There is no job yet: run npx gmsi init.');
    await pipeline.page.getByText(/requests used\. No job sets a budget\./).waitFor();
    expect(await pipeline.page.locator('.causes').count()).toBe(0);
  });

  it('says in a sentence that its login may not see jobs, in Briefing as well', async () => {
    await using pipeline = await aPipeline({ food: {} });
    await pipeline.load('food');
    await pipeline.page.route(/api\/(jobs|causes|requests)/, (route) =>
      route.fulfill({
        status: 403,
        json: { error: `The database user may not see ${route.request().url()}.` },
      }),
    );
    await pipeline.open();
    const sentence = pipeline.page.getByText('login that may not see jobs');
    await sentence.waitFor();
    await pipeline.page.getByText('requested series complete').waitFor();
    expect(await pipeline.page.getByText('The database user').count()).toBe(0);
    await pipeline.page.keyboard.press('1');
    await pipeline.page.getByRole('heading', { name: 'World' }).waitFor();
    await countOf(sentence).toBe(1);
  });

  it('says once that the warehouse is gone', async () => {
    await using pipeline = await aPipeline({ food: {} });
    await pipeline.page.route(/api\/(?!state)/, (route) =>
      route.fulfill({ status: 503, json: { error: 'The warehouse does not answer.', hint: 'Try again.' } }),
    );
    await pipeline.open();
    const alert = pipeline.page.getByRole('alert');
    for (const view of ['5', '1']) {
      await pipeline.page.keyboard.press(view);
      await alert.first().waitFor();
      await pipeline.page.waitForTimeout(300);
      expect(await alert.allInnerTexts()).toEqual(['The warehouse does not answer. Try again.']);
    }
  });

  it('shows the speed of a running load and the time left, and proposes no command for its job', async () => {
    await using pipeline = await aPipeline({ food: {} });
    await pipeline.load('food');
    await aWindowIn(pipeline.db, '2026-10-20', '2026-10-31', noAnswer);
    await pipeline.run`
      with here as (
        insert into gmsi.processes (process_id, command, run_by, version, heartbeat_at)
        values ('here', 'backfill', 'here', '0', now() + interval '25 seconds'))
      insert into gmsi.loads (job, command, feed, run_by, process_id, started_at, updated_at, records, requests, windows_planned, windows_drained)
      values ('food', 'backfill', 'gmsi-headlines', 'here', 'here', now() - interval '2 minutes', now() + interval '25 seconds', 24000, 120, 100, 40)`;
    await pipeline.run`update gmsi.loads set started_at = updated_at - interval '2 minutes' where run_by = 'here'`;
    await pipeline.open();
    const running = pipeline.page.getByRole('region', { name: 'Running now' });
    for (const said of ['12,000 a minute', '60 a minute', 'about 3 min left'])
      await running.getByText(said).waitFor();
    await textOf(pipeline.summary).toMatch(/^food: failing;/);
    await pipeline.cause(/1 window failed\s*No answer/).waitFor();
    expect(await pipeline.page.getByText('gmsi backfill').count()).toBe(0);
  });

  it('begins with what is cheap, before anything is loaded', async () => {
    const all = { countries: 'all', topics: 'all', start_date: '2016-01-01' };
    await using pipeline = await aPipeline({ 'all-history': all, food: {} });
    await pipeline.open();
    await pipeline.page.getByText('npx gmsi lookups').first().waitFor();
    for (const [table, column] of [
      ['countries', 'country'],
      ['topics', 'topic'],
    ])
      await pipeline.run`insert into ${sql.table(`gmsi.${table}`)} (${sql.ref(column!)}) values ('US'), ('Inflation-Food'), ('Other')`;
    await pipeline.page.reload();
    await shown(pipeline.page, /^npx gmsi backfill food/);
  });

  it('counts the requests of its key as gmsi status does, and misses a worker while something is scheduled', async () => {
    const budget = { requests_per_month: 4000, reserve: 400 };
    const schedule = { sync: '0 22 * * *' };
    await using pipeline = await aPipeline({ food: { end_date: 'today', schedule, budget } });
    await pipeline.load('food');
    await pipeline.run`delete from gmsi.api_usage`;
    await pipeline.run`insert into gmsi.api_usage (key_fingerprint, month, requests)
      values (${own}, ${monthOf(clock())}, 1888), ('another', ${monthOf(clock())}, 663)`;
    await pipeline.open();
    const { page } = pipeline;
    await page.getByText('1,888').waitFor();
    await page.getByText('663').waitFor();
    const missing = pipeline.cause('food: no worker runs it');
    await missing.getByText('npx gmsi work').waitFor();
    await missing.getByText(/about [\d,]+ requests/).waitFor();
    // Only the server's own key has a forecast.
    const said = async (used: string) =>
      await page.locator('p', { hasText: `${used} requests used` }).innerText();
    const [, forecast] = /limit 4,000 .*; about ([\d,]+) by the end/.exec(await said('1,888'))!;
    expect(Number(forecast!.replace(',', ''))).toBeGreaterThan(1888);
    expect(await said('663')).not.toContain('by the end');
    for (const used of ['1,888', '663']) expect(await said(used)).toContain('Backfills leave 400 for syncs.');
    await pipeline.run`insert into gmsi.processes (command, process_id, run_by, version, concurrency)
      values ('work', gen_random_uuid(), 'here', '0', 1)`;
    await registered(pipeline.db, 'food', { ...food, end_date: 'today', schedule, budget });
    await page.reload();
    await page.getByText(/sync \d{4}-\d\d-\d\d 22:00/).waitFor();
    expect(await missing.count()).toBe(0);
  });

  it('says what is wrong, what costs data first, each with its cure', async () => {
    const late = { end_date: 'today', schedule: { sync: '0 22 * * *' }, alerts: { max_lag: 'P5D' } };
    await using pipeline = await aPipeline({ food: late, broken: { countries: ['XX'] } });
    await pipeline.load('food');
    await aWindowIn(pipeline.db, '2026-10-20', '2026-10-31', noAnswer);
    await uncoverIn(pipeline.db, '{[2026-10-20,)}');
    await pipeline.run`
      insert into gmsi.alerts (kind, job, message, details) values
        ('export failed', 'food', 'No room.', '{}'), ('key refused', 'food', 'The service refuses the key.', '{}');
      insert into gmsi.check_results (job, check_name, title, severity, result, findings)
      values ('food', 'gaps', 'No gaps', 'fail', 'failed', 1);
      update gmsi.alerts set raised_at = now() + interval '1 minute';
      update gmsi.loads set started_at = now() - interval '3 days';
      insert into gmsi.loads (job, command, feed, run_by, records)
      select 'food', 'sync', 'gmsi-headlines', 'here', least(n, 1) from generate_series(0, 3) n;
      update gmsi.wire_fields set last_load_id = (select max(load_id) from gmsi.loads) where field <> 'url';
      insert into gmsi.wire_fields select feed, 'mood', 'extra', max(load_id), max(load_id) from gmsi.loads group by feed`;
    await pipeline.run`insert into gmsi.api_usage (key_fingerprint, month, requests) values (${own}, ${monthOf(clock())}, 250000)
      on conflict (key_fingerprint, month) do update set requests = excluded.requests`;
    await pipeline.open();
    for (const [cause, cure] of [
      ['food: API key refused', 'npx gmsi doctor'],
      ["food: the month's requests are spent", 'npx gmsi plan food'],
      ['broken: cannot run', 'XX'],
      ['food: 1 check failed', 'npx gmsi check food'],
      ['1 field new', 'npx gmsi check --repair records --dry-run'],
      ['1 field gone', 'no longer have url'],
      ['food: export failed', 'No room.'],
    ] as const)
      await shown(pipeline.cause(cause), cure);
    const causes = (await pipeline.page.locator('.causes strong').allInnerTexts()).join();
    expect(causes).toMatch(
      /days late,.*window failed,.*export failed,.*check failed,.*requests are spent,.*field new/,
    );
    await pipeline.page
      .getByText(/250,000 requests used, limit 250,000 \(the budget of broken, food\)/)
      .waitFor();
    expect(await axeFindings(pipeline.page)).toEqual([]);
  });
});

// That Tab reaches what has the focus in these, the page's looks have shown.
describe.skipIf(!browserPath)('by keyboard alone', { timeout: 120_000 }, () => {
  it('pipeline: from a cell to the days that it misses, and to all again', async () => {
    const page = await open(`view=pipeline&${days}`, /failed/);
    const cell = page.locator('.grid :focus');
    await page.getByRole('grid', { name: 'Coverage' }).getByRole('gridcell').last().focus();
    for (const key of ['Home', 'PageUp', 'ArrowRight', 'ArrowDown', 'ArrowUp'])
      await page.keyboard.press(key);
    expect(await cell.getAttribute('aria-label')).toMatch(/^NO Norway Inflation-Food: .* failed/);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Missing days of NO Inflation-Food' }).waitFor();
    const missing = page.getByRole('region', { name: 'Table of missing days' }).locator('tbody tr');
    await textOf(missing).toMatch(
      /2026-\d\d-\d\d – 2026-\d\d-\d\d\s+NO Inflation-Food\s+failed: <img src=x.*\s1$/,
    );
    // Tab comes back to the cell.
    await page.keyboard.press('Shift+Tab');
    await page.keyboard.press('Tab');
    expect(await cell.getAttribute('aria-label')).toMatch(/^NO Norway Inflation-Food/);
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await page.getByText('none is missing').waitFor();
    await page.getByRole('link', { name: 'all series' }).click();
    await countOf(missing).toBe(1);
  });

  it('briefing: from a cell of the world to its sentiment', async () => {
    const page = await open('to=2026-10-31', 'World');
    await page
      .getByRole('grid', { name: 'World' })
      .getByRole('gridcell', { name: /^NO Gov/ })
      .focus();
    for (const key of ['ArrowRight', 'ArrowDown']) await page.keyboard.press(key);
    expect(await page.locator('.grid :focus').getAttribute('aria-label')).toMatch(
      /^US Inflation-Food: [+−]0\.\d\d, [+−]0\.\d\d against 90 days before.*headlines$/,
    );
    await page.keyboard.press('Enter');
    await expect.poll(() => asked(page, 'view')).toBe('explore');
    expect([asked(page, 'country'), asked(page, 'topic')]).toEqual(['US', 'Inflation-Food']);
  });

  it('sentiment: chooses a country, a model and a past moment, and comes back to now', async () => {
    await sqlIn(loaded.warehouse.db)`insert into gmsi.moments (name, at, note, taken_by)
      values ('paper-2026', '2026-10-01T12:00:00Z', 'as submitted', 'test')`;
    const page = await open(`view=sentiment&${series}`, /headlines/);
    const asked = (name: string) => new URL(page.url()).searchParams.getAll(name);
    const country = page.getByRole('combobox', { name: 'Countries' });
    await country.focus();
    await page.keyboard.type('norw');
    await page.keyboard.press('Enter');
    await expect.poll(() => asked('country')).toEqual(['US', 'NO']);
    await page.getByRole('button', { name: /^Shown: directional/ }).click();
    await page.getByRole('button', { name: 'semantic', exact: true }).focus();
    await page.keyboard.press('Enter');
    await expect.poll(() => asked('model')).toEqual(['semantic']);
    const slider = page.getByRole('slider', { name: 'Moment' });
    // It begins with what is shown until the first load is known.
    const begin = async () => Number(await slider.getAttribute('min'));
    await expect.poll(async () => Number(await slider.inputValue()) > (await begin())).toBe(true);
    await slider.focus();
    for (let presses = 0; presses < 3; presses++) await page.keyboard.press('ArrowLeft');
    await expect.poll(() => asked('as_of')[0]! < new Date().toISOString()).toBe(true);
    await expectFocus(slider);
    // The field takes a name, which it suggests, a day, which counts to its end, and a moment.
    await page.getByRole('button', { name: /^As of/ }).focus();
    await page.keyboard.press('Enter');
    const field = page.getByLabel('Day, moment (UTC) or name');
    await page.locator('datalist option[value=paper-2026]').waitFor({ state: 'attached' });
    await field.fill('paper-2026');
    await page.keyboard.press('Enter');
    await page.getByText(/this warehouse knew on 2026-10-01/).waitFor();
    expect(asked('as_of')).toEqual(['paper-2026']);
    await expect.poll(() => field.inputValue()).toBe('paper-2026');
    for (const [typed, means] of [
      ['2026-10-05', '2026-10-05T23:59:59Z'],
      ['2026-10-05 08:30', '2026-10-05T08:30:00Z'],
      ['paper-2026', 'paper-2026'],
    ] as const) {
      await field.fill(typed);
      await page.keyboard.press('Enter');
      await expect.poll(() => asked('as_of')).toEqual([means]);
    }
    await field.fill('yesterday');
    await page.keyboard.press('Enter');
    await page.getByRole('alert').getByText('"yesterday" is neither a day or moment').waitFor();
    // In the zone of the page, before and after its clocks change, or with an offset; shown in UTC, too.
    await page.getByLabel('Times in').selectOption('America/New_York');
    const local = page.getByLabel('Day, moment (America/New_York) or name');
    for (const [typed, means, utc] of [
      ['2026-09-03 16:00', '2026-09-03T20:00:00Z', '2026-09-03 20:00 UTC'],
      ['2026-11-03 16:00', '2026-11-03T21:00:00Z', '2026-11-03 21:00 UTC'],
      ['2026-10-31 22:30', '2026-11-01T02:30:00Z', '2026-11-01 02:30 UTC'],
      ['2026-09-03 16:00Z', '2026-09-03T16:00:00Z', '2026-09-03 16:00 UTC'],
      ['2026-09-03 16:00+02:00', '2026-09-03T14:00:00Z', '2026-09-03 14:00 UTC'],
    ] as const) {
      await local.fill(typed);
      await page.keyboard.press('Enter');
      await expect.poll(() => asked('as_of')).toEqual([means]);
      await shown(page, utc);
    }
    await page.locator('.slider').getByText('now').waitFor();
    await page
      .locator('.slider')
      .getByText(/^\d{4}-\d\d-\d\d/)
      .waitFor();
    await page.getByRole('button', { name: 'Back to now' }).focus();
    await page.keyboard.press('Enter');
    await expect.poll(() => asked('as_of')).toEqual([]);
    await page.getByText('As of now.').waitFor();
  });

  it('sentiment: from a point to its headlines, and back to the point; its SQL opens', async () => {
    const page = await open(`view=sentiment&${series}`, /headlines/);
    const chart = page.getByRole('application');
    await chart.focus();
    await page.keyboard.press('End');
    await page.keyboard.press('ArrowLeft');
    await page.getByRole('status').filter({ hasText: '2026-10-30' }).waitFor();
    await page.keyboard.press('Enter');
    const headlines = page.getByRole('region', { name: 'Headlines of Fri 2026-10-30' });
    await headlines.getByRole('row').nth(1).waitFor();
    await headlines.getByRole('button', { name: 'Share', exact: true }).focus();
    await page.keyboard.press('Enter');
    const source = headlines.getByRole('link', { name: 'Exact SQL' });
    const opened = page.waitForEvent('popup');
    await source.focus();
    await page.keyboard.press('Enter');
    const sqlPage = await opened;
    await shown(sqlPage, 'from gmsi.headlines');
    await sqlPage.close();
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Close' }).focus();
    await page.keyboard.press('Enter');
    await countOf(headlines).toBe(0);
    await expectFocus(chart);
  });
});
