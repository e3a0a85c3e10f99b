import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { startSandbox } from '#sandbox';
import { inPackage } from '../../src/package.ts';
import type { Warehouse } from '../../src/warehouse/connect.ts';
import { keepCheckResults } from '../../src/warehouse/tables/check-results.ts';
import { aJob, runBackfill } from '../support/run-backfill.ts';
import { aWarehouse } from '../support/test-warehouse.ts';
import { aBrowser, aTab, browserPath } from './a-browser.ts';
import { aPage } from './a-page.ts';

const pictures = fileURLToPath(new URL('../../docs/pictures', import.meta.url));
const period = { start_date: '2025-01-01', end_date: '2025-12-31' };
const days = 'from=2025-01-01&to=2025-12-31';
const food = 'country=US&country=GB&topic=Inflation-Food';
const desks = ['US', 'GB', 'DE', 'JP', 'IN', 'BR', 'MX', 'ZA'];
const north = { countries: ['SE', 'PL', 'CZ'], start_date: '2025-07-01' };
const topics = ['Inflation-*', 'Labour Market-*', 'Market Stress', 'Elections'];

/** The job of `npm start`, from shortly before the days that Briefing shows. */
const demoJob = async () => ({
  ...parse(await readFile(inPackage('jobs/demo.yaml'), 'utf8')),
  start_date: '2025-09-01',
});

/** Loads what `npm start` loads, with what its checks find. */
async function loadDemo(db: Warehouse): Promise<void> {
  const file = await demoJob();
  for (const changes of [undefined, { revised: 0.01, withdrawn: 0.003 }]) {
    await using sandbox = await startSandbox({
      limits: null,
      seed: 'demo',
      volume: 0.6,
      ...(changes && { changes }),
    });
    await runBackfill({
      job: { ...aJob(changes ? { ...file, start_date: '2025-10-04' } : file), name: 'demo' },
      db,
      sandbox,
      clock: () => new Date(),
      plan: { fullRefresh: changes !== undefined, retryRefused: false },
    });
  }
  const check = { job: 'demo', check_name: 'volume', severity: 'warn', result: 'warned' } as const;
  const title = 'Each series has about as many rows a day as it usually has';
  await keepCheckResults(db, [{ ...check, title, findings: 5, known: 0, reason: null }], true);
}

// The pictures of the documentation: npm run pictures.
it.skipIf(!process.env.PICTURES || !browserPath)(
  'draws the pictures of the documentation',
  { timeout: 600_000 },
  async () => {
    await using warehouse = await aWarehouse();
    const match = ({ path, query }: { path: string; query: Readonly<Record<string, string>> }) =>
      /\/(MX|ZA)$/.test(path) &&
      /Stress|Elections/.test(Object.values(query).join(' ')) &&
      Number(query.start_date?.slice(5, 7)) < 6;
    await using sandbox = await startSandbox({
      limits: null,
      volume: 0.25,
      faults: { script: [{ kind: 'refuse', status: 422, times: 500, match }] },
    });
    const load = (name: string, overrides: Record<string, unknown>, fullRefresh = false, from = sandbox) =>
      runBackfill({
        job: { ...aJob({ ...period, ...overrides }), name },
        db: warehouse.db,
        sandbox: from,
        clock: () => new Date(),
        plan: { fullRefresh, retryRefused: false },
      });
    await load('desks', { countries: desks, topics });
    await load('north', { ...north, topics });
    const before = new Date().toISOString();
    await using later = await startSandbox({
      limits: null,
      volume: 0.25,
      changes: { revised: 0.06, withdrawn: 0.02 },
    });
    await load(
      'desks',
      { countries: ['US', 'GB'], topics: ['Inflation-Food'], start_date: '2025-11-01' },
      true,
      later,
    );
    /** What is pictured, and what it shows once it is drawn. */
    const views = {
      pipeline: { view: `view=pipeline&${days}`, shows: 'Missing days' },
      changes: { view: 'view=explore&show=changes&to=2025-12-28', shows: 'MX Mexico' },
      explore: { view: `view=explore&${food}&${days}&smooth=7`, shows: /sentiment by day/ },
      'as-of': {
        view: `view=explore&${food}&from=2025-11-16&to=2025-12-31&as_of=${before}`,
        shows: /days changed since then/,
      },
    };
    await using served = await aPage(warehouse.db, { page: inPackage('dist/page') });
    await mkdir(join(served.folder, 'jobs'));
    for (const [name, part] of Object.entries({ desks: { countries: desks }, north }))
      await writeFile(
        join(served.folder, 'jobs', `${name}.yaml`),
        JSON.stringify({ feed: 'gmsi-headlines', topics, ...period, ...part }),
      );
    await using demo = await aWarehouse();
    await loadDemo(demo.db);
    await using ofDemo = await aPage(demo.db, { page: inPackage('dist/page') });
    await mkdir(join(ofDemo.folder, 'jobs'));
    await writeFile(join(ofDemo.folder, 'jobs', 'demo.yaml'), JSON.stringify(await demoJob()));
    const browser = await aBrowser();
    try {
      const { 'as-of': asOf, ...others } = views;
      // Those of the README are sharp, and dark for who reads it so.
      for (const colorScheme of ['light', 'dark'] as const)
        for (const [name, of, view, shows] of [
          ['briefing', ofDemo, '', 'World'],
          ['as-of', served, asOf.view, asOf.shows],
        ] as const) {
          const viewport = { width: 1280, height: name === 'briefing' ? 760 : 840 };
          const context = await browser.newContext({ viewport, deviceScaleFactor: 2, colorScheme });
          const page = await context.newPage();
          await page.goto(`${of.url}/?${view}`);
          await page.getByText(shows).first().waitFor();
          await page.waitForTimeout(1_500);
          const path = join(pictures, `${name}${colorScheme === 'dark' ? '-dark' : ''}.png`);
          await page.screenshot({ path });
          await context.close();
        }
      for (const [name, { view, shows }] of Object.entries(others)) {
        await using tab = await aTab(browser, { viewport: { width: 1280, height: 720 } });
        await tab.page.goto(`${served.url}/?${view}`);
        await tab.page.getByText(shows).first().waitFor();
        await tab.page.waitForTimeout(1_500);
        await tab.page.screenshot({ path: join(pictures, `${name}.png`) });
        expect(tab.complaints).toEqual([]);
      }
    } finally {
      await browser.close();
    }
  },
);
