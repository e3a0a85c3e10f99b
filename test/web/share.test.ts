import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { sql } from 'kysely';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startSandbox } from '#sandbox';
import { inPackage } from '../../src/package.ts';
import { Secret } from '../../src/secret.ts';
import { isThere, tools } from '../docs/run-program.ts';
import { aJob, refresh, runBackfill } from '../support/run-backfill.ts';
import { axeFindings, browserPath, countOf, expectFocus, expectToFit, opened, shown } from './a-browser.ts';
import { aLoadedPage, aPage, clock } from './a-page.ts';

let loaded: Awaited<ReturnType<typeof aLoadedPage>>;

beforeAll(async () => {
  if (browserPath) loaded = await aLoadedPage();
});
afterAll(() => loaded?.[Symbol.asyncDispose]());

const view = 'view=sentiment&country=US&country=NO&topic=Inflation-Food';
/** Begins before the first requested day; the last days of NO failed. */
const lines = `${view}&from=2026-08-30&to=2026-10-31`;

async function openShare(query: string, { url = loaded.served.url, width = 1440 } = {}) {
  const page = await opened(loaded.browser, `${url}/?${query}`, { viewport: { width, height: 900 } });
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await page.getByRole('button', { name: 'Share', exact: true }).first().click();
  return page;
}

/** Returns what a button copies. */
async function copied(page: Page, name: string): Promise<string> {
  await page.getByRole('button', { name, exact: true }).click();
  await shown(page, 'Copied');
  return page.evaluate<string>('navigator.clipboard.readText()');
}

async function codeFor(page: Page, name: string): Promise<string> {
  await page.getByRole('button', { name, exact: true }).click();
  return copied(page, `Copy the code for ${name}`);
}

/** Days, headlines and means of a CSV of few texts, which need no quotes. */
async function numbersOf(page: Page) {
  const href = await page.getByRole('link', { name: 'CSV' }).getAttribute('href');
  const [head, ...rows] = (await (await fetch(`${loaded.served.url}/${href}`)).text())
    .trimEnd()
    .split('\n')
    .map((line) => line.split(','));
  const at = (name: string) => head!.indexOf(name);
  return rows.map((cells) => ({
    key: ['country', 'topic', 'match_type', 'at', 'state'].map((name) => cells[at(name)]).join(' '),
    values: ['all_count', 'directional', 'semantic'].map((name) =>
      cells[at(name)] ? Number(cells[at(name)]) : null,
    ),
  }));
}

/** The numbers of the first line, as the page shows them. */
async function drawn(page: Page): Promise<string[]> {
  await page.getByText('Numbers', { exact: true }).click();
  await page.locator('.numbers tbody tr').first().waitFor();
  return page.evaluate<string[]>(
    `[...document.querySelectorAll('.numbers tbody tr')].map(({ cells: [day, mean] }) => day.innerText + ' ' + mean.innerText)`,
  );
}

describe.skipIf(!browserPath)('Share', { timeout: 120_000 }, () => {
  it.each([390, 1440])('works by keyboard at %i px, and gives the focus back', async (width) => {
    const page = await opened(loaded.browser, `${loaded.served.url}/?${lines}`, {
      viewport: { width, height: 900 },
    });
    const button = page.getByRole('button', { name: 'Share', exact: true }).first();
    await button.focus();
    await page.keyboard.press('Enter');
    await expectFocus(page.getByRole('button', { name: 'Copy the living link' }));
    await expectToFit(page);
    const box = (await page.getByRole('dialog', { name: 'Share' }).boundingBox())!;
    expect([box.x >= 0, box.x + box.width <= width, box.y >= 0, box.y + box.height <= 900]).toEqual(
      Array(4).fill(true),
    );
    expect(await axeFindings(page)).toEqual([]);
    await page.keyboard.press('Escape');
    await countOf(page.getByRole('dialog', { name: 'Share' })).toBe(0);
    await expectFocus(button);
    await page.emulateMedia({ media: 'print' });
    await countOf(page.locator('main :is(button:not(th *), input, select, summary):visible')).toBe(0);
    await countOf(page.locator('.uplot:visible')).toBe(2);
    await page.emulateMedia({ media: null });
  });

  it('names files after their title and days', async () => {
    const page = await openShare(lines);
    const saving = page.waitForEvent('download');
    await page.getByRole('link', { name: 'CSV' }).click();
    expect((await saving).suggestedFilename()).toBe(
      'gmsi-United-States-Norway-Inflation-Food-sentiment-by-day-2026-08-30-to-2026-10-31.csv',
    );
    const other = await openShare(`${lines.replace('&country=NO', '')}&at=2026-10-20`);
    await other.keyboard.press('Escape');
    await other.locator('.headlines').getByRole('button', { name: 'Share', exact: true }).first().click();
    expect(await other.getByRole('link', { name: 'CSV' }).getAttribute('download')).toBe(
      'gmsi-Headlines-of-Tue-2026-10-20-US-Inflation-Food.csv',
    );
  });

  it('copies short SQL with the numbers of the CSV, with a row for each requested day', async () => {
    const page = await openShare(lines);
    const csv = await numbersOf(page);
    const { rows } = await sql
      .raw<Record<string, unknown>>(
        (await codeFor(page, 'SQL')).replace('day, state', 'day::text as day, state'),
      )
      .execute(loaded.warehouse.db);
    const found = rows.map((row) => ({
      key: ['country', 'topic', 'match_type', 'day', 'state'].map((name) => row[name]).join(' '),
      values: [row.all_count, row.directional_mean, row.semantic_mean],
    }));
    expect(found).toHaveLength(2 * 61);
    const wasRequested = new Set(found.map(({ key }) => key));
    expect(csv.filter(({ key }) => wasRequested.has(key)).map(numeric)).toEqual(found.map(numeric));
    for (const { key, values } of csv.filter(({ key }) => !wasRequested.has(key))) {
      expect(key).toMatch(/2026-08-3[01] not loaded$/);
      expect(values).toEqual([null, null, null]);
    }
    // By week, and of a past moment, there is exact SQL alone.
    for (const other of ['&by=week', '&as_of=2026-10-20T12:00:00Z']) {
      const page = await openShare(lines + other);
      await page.getByRole('button', { name: 'R', exact: true }).waitFor();
      await countOf(page.getByRole('button', { name: 'SQL', exact: true })).toBe(0);
      await page.getByRole('link', { name: 'Exact SQL' }).waitFor();
    }
  });

  it('shows a link to copy where the browser gives no clipboard', async () => {
    const page = await openShare(lines);
    await page.evaluate("Object.defineProperty(navigator, 'clipboard', { value: undefined })");
    const asking = page.waitForEvent('dialog');
    void page.getByRole('button', { name: 'Copy the living link' }).click();
    const dialog = await asking;
    expect([dialog.type(), dialog.defaultValue()]).toEqual(['prompt', page.url()]);
    await dialog.dismiss();
  });

  it('copies no short SQL of a value that psql would obey', async () => {
    const page = await openShare(`${lines}&topic=${encodeURIComponent("It's\n\\! x")}`);
    await page.getByRole('button', { name: 'R', exact: true }).waitFor();
    await countOf(page.getByRole('button', { name: 'SQL', exact: true })).toBe(0);
    const quoted = await openShare(`${view}&topic=${encodeURIComponent("It's")}&from=2026-10-01`);
    expect(await codeFor(quoted, 'SQL')).toContain("topic in ('Inflation-Food', 'It''s')");
  });

  const prints = {
    pandas: '\nprint(len(data), int(data["all_count"].sum()), repr(float(data["directional_sum"].sum())))',
    R: '\ncat(nrow(data), sum(data$all_count, na.rm = TRUE), format(sum(data$directional_sum, na.rm = TRUE), digits = 15))',
  };

  it.each(['pandas', 'R'] as const)(
    'copies code for %s that reads the CSV, with and without a token',
    { skip: !isThere('pandas') || !isThere('R') },
    async (name) => {
      const token = 'a-token-of-this-test';
      await using guarded = await aPage(loaded.warehouse.db, {
        page: inPackage('dist/page'),
        token: new Secret(token),
      });
      const { rows } = await sql<{ headlines: number; sum: number }>`
        select sum(all_count)::int as headlines, sum(directional_sum) as sum from gmsi.sentiment_by_day
        where topic = 'Inflation-Food' and match_type = 'COMBINED'`.execute(loaded.warehouse.db);
      const [program, ...options] = tools[name]!.run as [string, ...string[]];
      for (const [url, env] of [
        [loaded.served.url, {}],
        [guarded.url, { GMSI_SERVE_TOKEN: token }],
      ] as const) {
        const page = await opened(loaded.browser, `${url}/?${lines}`);
        await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
        if (url === guarded.url) {
          await page.getByLabel('Token').fill(token);
          await page.keyboard.press('Enter');
        }
        await page.getByRole('button', { name: 'Share', exact: true }).first().click();
        if (url === guarded.url) await shown(page, 'GMSI_SERVE_TOKEN');
        const code = await codeFor(page, name);
        expect(code.includes('GMSI_SERVE_TOKEN')).toBe(url === guarded.url);
        expect(code).not.toContain(token);
        const running = promisify(execFile)(program, options, { env: { PATH: process.env.PATH!, ...env } });
        running.child.stdin!.end(code + prints[name]);
        const [count, headlines, total] = (await running).stdout.trim().split(' ').map(Number);
        expect([count, headlines]).toEqual([2 * 63, rows[0]!.headlines]);
        expect(total).toBeCloseTo(rows[0]!.sum, 9);
      }
    },
  );

  // The last one, because it changes what is loaded.
  it('copies a fixed link, which shows the same numbers after a load, and a living one, which does not', async () => {
    const page = await openShare(`${view}&from=30d&smooth=7`);
    const links = [await copied(page, 'Copy the living link'), await copied(page, 'Copy the fixed link')];
    const csv = await numbersOf(page);
    expect(links[0]).toBe(page.url());
    const fixed = new URL(links[1]!).searchParams;
    expect([fixed.get('from'), fixed.get('to'), fixed.get('smooth')]).toEqual([
      '2026-10-02',
      '2026-10-31',
      '7',
    ]);
    await page.keyboard.press('Escape');
    const before = await drawn(page);
    await using sandbox = await startSandbox({
      limits: null,
      volume: 0.3,
      clock,
      changes: { revised: 0.3 },
    });
    const job = aJob({ start_date: '2026-09-20', end_date: '2026-11-03' });
    const { outcome } = await runBackfill({ job, db: loaded.warehouse.db, sandbox, plan: refresh });
    expect(outcome).toBe('done');
    const pinned = await openShare(new URL(links[1]!).search.slice(1));
    expect((await numbersOf(pinned)).map(withoutState)).toEqual(csv.map(withoutState));
    expect(await copied(pinned, 'Copy the fixed link')).toBe(links[1]!.replace('Z', '000Z'));
    await pinned.keyboard.press('Escape');
    expect(await drawn(pinned)).toEqual(before);
    const living = await openShare(new URL(links[0]!).search.slice(1));
    await living.keyboard.press('Escape');
    const after = await drawn(living);
    expect(after[0]).toMatch(/^Tue 2026-11-03/);
    expect(after.filter((line) => before.includes(line)).length).toBeLessThan(5);
  });
});

type Numbers = Awaited<ReturnType<typeof numbersOf>>[number];

/** Sums of days and of headlines differ in their last digits. */
const rounded = (value: unknown) => (typeof value === 'number' ? Number(value.toFixed(9)) : value);
const numeric = ({ key, values }: { key: string; values: readonly unknown[] }) => [
  key,
  ...values.map(rounded),
];
const withoutState = ({ key, values }: Numbers) => [
  key.split(' ').slice(0, 4).join(' '),
  ...values.map(rounded),
];
