import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sqlIn } from '../support/warehouse-state.ts';
import {
  asked,
  axeFindings,
  browserPath,
  countOf,
  expectFocus,
  expectToFit,
  opened,
  shown,
} from './a-browser.ts';
import { aLoadedPage } from './a-page.ts';
import { answer, answerWith } from './all-pairs.ts';

const series = 'country=US&topic=Inflation-Food';
const views = {
  sentiment: `view=sentiment&${series}&from=30d`,
  pipeline: 'view=pipeline',
  changes: 'view=changes&to=2026-10-20',
};

let loaded: Awaited<ReturnType<typeof aLoadedPage>>;

beforeAll(async () => {
  if (browserPath) loaded = await aLoadedPage();
});

afterAll(() => loaded?.[Symbol.asyncDispose]());

async function open(query: string, viewport = { width: 1440, height: 900 }) {
  const look = { viewport, colorScheme: viewport.width < 600 ? 'dark' : 'light' } as const;
  const page = await opened(loaded.browser, `${loaded.served.url}/?${query}`, look);
  await page.locator('.live.on').waitFor();
  return page;
}

describe.skipIf(!browserPath)('by keyboard', { timeout: 120_000 }, () => {
  it('skips to the content', async () => {
    const page = await open(views.pipeline);
    await page.keyboard.press('Tab');
    await expectFocus(page.getByRole('link', { name: 'Skip to the content' }));
    await page.keyboard.press('Enter');
    await expectFocus(page.locator('main'));
    expect(asked(page, 'view')).toBe('pipeline');
  });

  it('/ finds a series, from any view; a field keeps the key', async () => {
    const page = await open(`view=pipeline&${series}`);
    const country = page.getByRole('combobox', { name: 'Countries' });
    await page.keyboard.press('/');
    await expectFocus(country);
    await page.keyboard.type('no/');
    expect(await country.inputValue()).toBe('no/');
    await page.keyboard.press('Backspace');
    await page.locator('datalist option[value=NO]').waitFor({ state: 'attached' });
    await page.keyboard.press('Enter');
    await expect.poll(() => page.url()).toContain('country=NO');
  });

  it('? lists the keys, and Escape closes the list', async () => {
    const page = await open(views.pipeline);
    await page.keyboard.press('?');
    const list = page.getByRole('dialog', { name: 'Keys' });
    await list.getByText('finds a country or a topic').waitFor();
    expect(await axeFindings(page)).toEqual([]);
    await page.keyboard.press('Escape');
    await countOf(list).toBe(0);
  });

  it('a search leaves the headlines of a point that have its words', async () => {
    const page = await open(`${views.sentiment}&at=2026-10-20&by=month`);
    const rows = page.getByRole('region', { name: 'Headlines', exact: true }).locator('tbody tr');
    const source = (await rows.first().locator('td .quiet').first().innerText()).split(' · ')[0]!;
    const all = await rows.count();
    await page.getByLabel('Search these headlines').fill(source.toUpperCase());
    await page.keyboard.press('Enter');
    await countOf(rows).toBeLessThan(all);
    await expect
      .poll(async () => (await rows.allInnerTexts()).every((text) => text.includes(source)))
      .toBe(true);
  });
});

describe.skipIf(!browserPath)('a line', { timeout: 120_000 }, () => {
  it('that is a trailing mean has a band of its usual scatter, where the 90 days before are loaded', async () => {
    const dayAt = (back: number) =>
      new Date(Date.parse('2026-10-31') - back * 86_400_000).toISOString().slice(0, 10);
    const of = ['US', 'Inflation-Food', 'COMBINED'];
    const days = Array.from({ length: 150 }, (_, back) => [...of, dayAt(back), Math.sin(back) / 2]);
    /** Pixels of the chart that are neither clear nor opaque, as those of a band are. */
    const shadedIf = async (firstDay: string): Promise<number> => {
      const page = await opened(loaded.browser, 'about:blank');
      await answerWith(page, {
        sentiment: answer(
          'country topic match_type at directional all_count directional_count directional_sum',
          days.map((day) => [...day, 4, 4, 4 * Number(day.at(-1))]),
        ),
        'coverage/days': answer('country topic match_type ticker variant first_day last_day', [
          [...of, '', '', firstDay, '2026-10-31'],
        ]),
      });
      await page.goto(`${loaded.served.url}/?${views.sentiment}&smooth=7`);
      await shown(page, 'The band is the usual scatter');
      await page.locator('.chart canvas').first().waitFor();
      await page.quiet();
      return page.evaluate(`(() => {
        const chart = document.querySelector('.chart canvas');
        const { width, height } = chart;
        // A copy: a browser complains about a canvas that is read twice.
        const copy = new OffscreenCanvas(width, height).getContext('2d', { willReadFrequently: true });
        copy.drawImage(chart, 0, 0);
        const { data } = copy.getImageData(0, 0, width, height);
        return data.filter((value, index) => index % 4 === 3 && value > 20 && value < 90).length;
      })()`);
    };
    const without = await shadedIf(dayAt(40));
    expect(await shadedIf(dayAt(149))).toBeGreaterThan(without + 5_000);
  });
});

describe.skipIf(!browserPath)('panels', { timeout: 120_000 }, () => {
  it('have one axis: three numbers each, one of which is 0, and its name once', async () => {
    const lists = 'country=US&country=NO&topic=Inflation-Food&topic=Governance/Corruption';
    const page = await open(`view=sentiment&${lists}&match_type=COMBINED&match_type=DOMESTIC&smooth=7`);
    await countOf(page.locator('.chart .u-title')).toBe(8);
    await page.quiet();
    await page.evaluate(`{
      globalThis.written = [];
      const write = CanvasRenderingContext2D.prototype.fillText;
      CanvasRenderingContext2D.prototype.fillText = function (text, ...others) {
        written.push(text);
        return write.call(this, text, ...others);
      };
    }`);
    // Draws everything again.
    await page.emulateMedia({ colorScheme: 'dark' });
    const written = (pattern: RegExp) =>
      page.evaluate<number>(`written.filter((text) => ${pattern}.test(text)).length`);
    await expect.poll(() => written(/headlines per day/)).toBeGreaterThan(0);
    const drawn = await written(/headlines per day/);
    expect(await written(/^score$/)).toBe(drawn);
    expect([await written(/^0$/), await written(/^[+−]0\.\d+$/)]).toEqual([8 * drawn, 16 * drawn]);
    await page.reload();
  });
});

describe.skipIf(!browserPath)('a link', { timeout: 120_000 }, () => {
  it('has a title of view, country and topic', async () => {
    const page = await open('');
    for (const [query, title] of [
      [views.sentiment, 'Explore · US · Inflation-Food – gmsi'],
      ['view=sentiment', /^Explore · (US|NO) · (Inflation-Food|Governance.Corruption) – gmsi$/],
      [`${views.pipeline}&${series}`, 'Pipeline · US · Inflation-Food – gmsi'],
      [views.changes, 'Explore – gmsi'],
      ['', 'Briefing · 2026-10-31 – gmsi'],
    ] as const) {
      // As by the browser's own buttons, which load no page.
      await page.evaluate(
        `history.pushState(null, '', '?${query}'); dispatchEvent(new PopStateEvent('popstate'))`,
      );
      await expect.poll(() => page.title()).toMatch(title);
    }
  });

  it('leads to yesterday by the clock of the server, whatever that of the browser is', async () => {
    const page = await loaded.browser.newPage();
    await page.clock.setFixedTime('2026-10-20T12:00:00Z');
    await page.goto(`${loaded.served.url}/?view=explore&show=changes`);
    await page.getByRole('button', { name: /^Period: 7 d: 2026-10-25 to 2026-10-31$/ }).waitFor();
    await page.close();
  });

  it('keeps a relative period relative', async () => {
    const page = await open(`view=sentiment&${series}`);
    await page.getByRole('button', { name: /^Period/ }).click();
    await page.getByRole('button', { name: '30 d' }).click();
    await expect.poll(() => page.getByLabel('First day').inputValue()).toBe('2026-10-02');
    expect(await page.getByLabel('Last day').inputValue()).toBe('2026-10-31');
    expect([asked(page, 'from'), asked(page, 'to')]).toEqual(['30d', null]);
    await page.getByLabel('First day').fill('31.10.2026');
    await page.keyboard.press('Enter');
    await expect.poll(() => page.getByLabel('First day').inputValue()).toBe('2026-10-02');
    await page.getByRole('alert').getByText('"31.10.2026" is not a day (YYYY-MM-DD).').waitFor();
    await page.getByLabel('First day').fill('2026-10-12');
    // What is typed stays while the page is drawn anew.
    const asksAgain = page.waitForResponse(/\/api\/sentiment\?/);
    await sqlIn(
      loaded.warehouse.db,
    )`insert into gmsi.loads (command, job, feed, run_by) values ('backfill', 'test', 'gmsi-headlines', 'here')`;
    await asksAgain;
    await page.quiet();
    expect(await page.getByLabel('First day').inputValue()).toBe('2026-10-12');
    await sqlIn(loaded.warehouse.db)`delete from gmsi.loads where run_by = 'here'`;
    await page.keyboard.press('Enter');
    await expect.poll(() => asked(page, 'from')).toBe('2026-10-12');
  });

  it.each(['sentiment', 'pipeline'] as const)('saves a picture: %s', async (view) => {
    const page = await open(views[view]);
    await page.locator('.chart canvas, .grid [aria-label]').first().waitFor();
    const chart = view === 'pipeline' ? page.getByRole('region', { name: 'Series' }) : page;
    await chart.getByRole('button', { name: 'Share', exact: true }).first().click();
    const saving = page.waitForEvent('download');
    await page.locator('.share', { has: page.getByRole('dialog') });
    await page.getByRole('button', { name: 'PNG' }).click();
    const saved = await saving;
    expect(saved.suggestedFilename()).toMatch(
      /^gmsi-(United-States|Series-gmsi-headlines)-.*2026-10-31\.png$/,
    );
    const png = await readFile(await saved.path());
    expect(png.subarray(1, 4).toString()).toBe('PNG');
    const [width, height] = [png.readUInt32BE(16), png.readUInt32BE(20)];
    expect(width).toBeGreaterThan(1_500);
    expect(width / height).toBeCloseTo(16 / 9, 2);
    expect(png.length).toBeGreaterThan(10_000);
    await countOf(page.getByRole('button', { name: 'SVG' })).toBe(view === 'pipeline' ? 0 : 1);
  });

  it('saves a chart as vectors whose texts are texts, whatever they say, and leaves the page as it was', async () => {
    const odd = '</text><image href="x"/>&"\u0001\uffff';
    const page = await open(`${views.sentiment}&country=NO&topic=${encodeURIComponent(odd)}`);
    await page.locator('.chart canvas').first().waitFor();
    await page.quiet();
    const drawn = () =>
      page.evaluate<string[]>(
        "[...document.querySelectorAll('.chart canvas')].flatMap((one) => [one.toDataURL(), ...Object.keys(one.getContext('2d'))])",
      );
    const before = await drawn();
    await page.getByRole('button', { name: 'Share', exact: true }).first().click();
    const saving = page.waitForEvent('download');
    await page.getByRole('button', { name: 'SVG' }).click();
    const saved = await saving;
    expect(saved.suggestedFilename()).toMatch(/^gmsi-.*2026-10-31\.svg$/);
    const file = await readFile(await saved.path(), 'utf8');
    const { size, names, texts, line } = await page.evaluate<{
      size: [number, number];
      names: string[];
      texts: string[];
      line: string;
    }>(`(() => {
      const all = [...new DOMParser().parseFromString(${JSON.stringify(file)}, 'image/svg+xml').querySelectorAll('*')];
      return {
        size: ['width', 'height'].map((side) => Number(all[0].getAttribute(side))),
        names: [...new Set(all.map(({ localName }) => localName))].sort(),
        texts: all.filter(({ localName }) => localName === 'text').map(({ textContent }) => textContent),
        line: all.find((one) => one.getAttribute('stroke') === '#1f6f6b' && one.getAttribute('stroke-width') === '1.75').getAttribute('d'),
      };
    })()`);
    expect(size[0] / size[1]).toBeCloseTo(16 / 9, 2);
    expect(names).toEqual(['clipPath', 'defs', 'g', 'path', 'rect', 'svg', 'text']);
    const days = await sqlIn(loaded.warehouse.db)`
      select from gmsi.sentiment_by_day
      where country = 'US' and topic = 'Inflation-Food' and day between '2026-10-02' and '2026-10-31' and all_count > 0`;
    expect(days.length).toBeGreaterThan(25);
    expect(line.split(/[ML]/).slice(1)).toHaveLength(days.length);
    const title = await page.locator('.headline h2').first().innerText();
    const said = texts.join(' ').replaceAll('\u00a0', ' ');
    expect(said).toContain(title.replaceAll('\u00a0', ' ').replace('\u0001\uffff', ''));
    expect(said).toMatch(/Source: gmsi, made-up data\. As of \d{4}-\d\d-\d\d \d\d:\d\d UTC\.$/);
    expect(texts).toEqual(
      expect.arrayContaining(['score', 'US · Inflation-Food', `NO · ${odd.replace('\u0001\uffff', '')}`]),
    );
    expect(await drawn()).toEqual(before);
    expect(await page.evaluate<string>('Path2D.name')).toBe('Path2D');
  });
});

describe.skipIf(!browserPath)('at 360 px', { timeout: 120_000 }, () => {
  const narrow = { width: 360, height: 740 };

  it.each(['sentiment', 'changes'] as const)('data come before anything else: %s', async (view) => {
    const page = await open(views[view], narrow);
    // Failures stand below, as one sees them.
    const data = page.locator('.chart canvas, .grid, main table:not(.causes)').first();
    // A chart is drawn again once the story of its largest move is known.
    await expect.poll(async () => (await data.boundingBox())?.y, { timeout: 20_000 }).toBeLessThan(370);
    await expectToFit(page);
    expect(await axeFindings(page)).toEqual([]);
  });

  it('the words of a cell stand on the page', async () => {
    const page = await open('to=2026-10-31', narrow);
    const cells = page.getByRole('grid').locator('tbody td');
    await cells.first().waitFor();
    for (const cell of await cells.all()) {
      await cell.hover();
      await expectToFit(page);
    }
  });

  it('the controls are one line, which scrolls to what has the focus', async () => {
    const page = await open(views.sentiment, narrow);
    await page.keyboard.press('/');
    await expectFocus(page.getByRole('combobox', { name: 'Countries' }));
    await page.locator('datalist option[value=NO]', { hasText: 'Norway' }).waitFor({ state: 'attached' });
    await page.keyboard.type('no');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: /^United States, Norway · / }).waitFor();
    const shown = page.getByRole('button', { name: /^Shown: / });
    const box = async () => (await shown.boundingBox())!;
    expect((await box()).x).toBeGreaterThan(360);
    await shown.focus();
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'semantic', exact: true }).waitFor();
    const { x, width } = await box();
    expect(x + width).toBeLessThanOrEqual(360);
    await expectToFit(page);
  });
});
