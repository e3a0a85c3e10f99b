import { existsSync } from 'node:fs';
import pg from 'pg';
import { chromium } from 'playwright-core';
import { inPackage } from '../src/package.ts';
import { createLog } from '../src/terminal/log.ts';
import { print } from '../src/terminal/print.ts';
import { table } from '../src/terminal/table.ts';
import { warehouseEndpoints } from '../src/web/endpoints.ts';
import { serveWeb } from '../src/web/server.ts';
import { filled, timed } from './fill.ts';
import { open } from './server.ts';
import { median, thousands, type Verdict } from './statistics.ts';

/** Milliseconds that an answer may take, from the request to its last byte. */
const goal = 200;
const rounds = 5;

type Values = Readonly<Record<string, string | readonly string[]>>;

/** Asks what the views of `gmsi serve` ask, and then opens them, where there is a browser. */
export async function askPage(url: string): Promise<Verdict[]> {
  const db = open(url, 6);
  const web = await serveWeb(db, {
    host: '127.0.0.1',
    port: 0,
    names: [],
    token: undefined,
    page: inPackage('dist/page'),
    log: createLog({ level: 'error', readable: true }),
    endpoints: warehouseEndpoints({ leaseSeconds: 30, apiKey: undefined, clock: () => new Date() }),
  });
  const lists = await listsOf(url);
  const measured: { what: string; size: Size; first: number; again: number }[] = [];
  for (const [what, path, values] of questionsOf(lists)) {
    let size: Size = { rows: 0, bytes: 0 };
    const asked = async () => {
      size = await ask(`${web.url}/api/${path}`, values);
    };
    const first = await timed(asked);
    const times: number[] = [];
    while (times.length < rounds) times.push(await timed(asked));
    measured.push({ what, size, first, again: median(times) });
  }
  const rows = measured.map(({ what, size, first, again }) => [
    what,
    thousands(size.rows),
    thousands(size.bytes / 1000),
    milliseconds(first),
    milliseconds(again),
  ]);
  print(`${table(['answer of the page', 'rows', 'kB', 'first', 'then'], rows)}\n`);
  if (browserPath) await openViews(web.url, lists);
  await web[Symbol.asyncDispose]();
  await db.destroy();
  return measured.map(({ what, again }) => ({
    goal: `${what}: under ${goal} ms`,
    measured: milliseconds(again),
    met: again * 1000 < goal,
  }));
}

interface Size {
  readonly rows: number;
  readonly bytes: number;
}

function textOf(values: Values): string {
  const pairs = Object.entries(values).flatMap(([name, value]) =>
    [value].flat().map((one) => [name, one as string]),
  );
  return String(new URLSearchParams(pairs as [string, string][]));
}

async function ask(address: string, values: Values): Promise<Size> {
  const response = await fetch(`${address}?${textOf(values)}`);
  const text = await response.text();
  if (!response.ok) throw new Error(`${address} answers with ${response.status}: ${text}`);
  return { rows: JSON.parse(text).rows.length, bytes: text.length };
}

interface Lists {
  readonly countries: readonly string[];
  /** The topics with most news in the United States, the first one first. */
  readonly busiest: readonly string[];
  /** A headline that has changed. */
  readonly changed: Values;
}

async function listsOf(connectionString: string): Promise<Lists> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  const list = async (text: string) =>
    (await client.query({ text, rowMode: 'array' })).rows.map(([one]) => one as string);
  const lists = {
    countries: await list('select country from gmsi.countries order by 1'),
    busiest:
      await list(`select topic from gmsi.sentiment_daily where country = 'US' and match_type = 'COMBINED'
                         group by 1 order by sum(headline_count) desc limit 6`),
    changed: (
      await client.query(`select country, topic, match_type, headline_id,
          to_char(published_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as published_at
        from gmsi.headline_revisions where published_at >= '2025-06-01' and published_at < '2025-07-01' limit 1`)
    ).rows[0],
  };
  await client.end();
  return lists;
}

const year = { from: '2025-01-01', to: filled.to };
const all = { from: filled.from, to: filled.to };
const then = { as_of: '2025-09-30T12:00:00.000Z' };
const feed = { feed: 'gmsi-headlines' };
const combined = { match_type: 'COMBINED' };

/** What each view asks by itself, and heavier things that somebody may choose in it. */
function questionsOf({ countries, busiest, changed }: Lists): [what: string, path: string, values: Values][] {
  const one = { country: 'US', topic: busiest[0]!, ...combined };
  const twelve = { country: ['US', 'GB'], topic: busiest, ...combined };
  const world = { country: countries, topic: busiest[0]!, ...combined };
  return [
    ['all: what is loaded', 'feeds', {}],
    ['all: countries and topics', 'series', {}],
    ['coverage: all series, ten years', 'coverage', { ...feed, ...combined, ...all }],
    ['coverage: all series, a year', 'coverage', { ...feed, ...combined, ...year }],
    ['briefing', 'briefing', { to: year.to }],
    ['coverage: a series, its days', 'coverage/days', { ...feed, ...one, ...all }],
    ['missing days', 'coverage/missing', feed],
    ['coverage: a series, its news by day', 'sentiment', { ...one, ...all }],
    ['runs: loads', 'loads', { limit: '500' }],
    ['runs: requests of a month', 'requests', { month: new Date().toISOString().slice(0, 7) }],
    ['sentiment: the fullest series', 'series/fullest', { ...feed, limit: '1' }],
    ['lines: a series, a year by day', 'sentiment', { ...one, ...year }],
    ['lines: a series, a year by hour', 'sentiment', { ...one, ...year, by: 'hour' }],
    ['lines: 12 series, a year by day', 'sentiment', { ...twelve, ...year }],
    ['lines: 12 series, ten years by day', 'sentiment', { ...twelve, ...all }],
    ['lines: 12 series, a year by day, as of', 'sentiment', { ...twelve, ...year, ...then }],
    ['lines: 12 series, ten years by week, as of', 'sentiment', { ...twelve, ...all, ...then, by: 'week' }],
    ['lines: 12 series, their covered days', 'coverage/days', { ...feed, ...twelve, ...all }],
    ['lines: 12 series, their covered days, as of', 'coverage/days', { ...feed, ...twelve, ...all, ...then }],
    ['97 countries, their covered days', 'coverage/days', { ...feed, ...world, ...all }],
    ['headlines: a day', 'headlines', { ...one, from: '2025-06-10T00:00:00Z', to: '2025-06-11T00:00:00Z' }],
    [
      'headlines: the last 100 of ten years',
      'headlines',
      { ...one, from: `${all.from}T00:00:00Z`, to: `${all.to}T00:00:00Z` },
    ],
    [
      'headlines: a month, as of',
      'headlines',
      { ...one, ...then, from: '2025-06-01T00:00:00Z', to: '2025-07-01T00:00:00Z' },
    ],
    ['headlines: versions of one', 'headlines/versions', changed],
  ];
}

const browserPath = ['/usr/bin/chromium', '/usr/bin/google-chrome'].find(existsSync);

/** What opening each view costs the browser, without what it had in its cache. */
async function openViews(url: string, { busiest }: Lists): Promise<void> {
  const series = { country: 'US', topic: busiest[0]!, ...year };
  const views: Record<string, Values> = {
    briefing: { view: 'briefing', to: year.to },
    pipeline: { view: 'pipeline', ...all },
    'lines, one': { view: 'explore', ...series },
    'lines, 12, with headlines': {
      view: 'explore',
      ...series,
      country: ['US', 'GB'],
      topic: busiest,
      at: '2025-06-10',
    },
  };
  const args = ['--no-sandbox', '--disable-background-networking', '--disable-component-update'];
  const browser = await chromium.launch({ executablePath: browserPath!, args });
  const rows: (string | number)[][] = [];
  for (const [name, values] of Object.entries(views)) {
    const context = await browser.newContext({ viewport: { width: 1600, height: 1000 } });
    const page = await context.newPage();
    let requests = 0;
    page.on('request', () => {
      requests += 1;
    });
    const session = await context.newCDPSession(page);
    await session.send('Performance.enable');
    await page.goto(`${url}/?${textOf(values)}`);
    await page.waitForTimeout(4_000);
    const { metrics } = await session.send('Performance.getMetrics');
    const of = (metric: string) => metrics.find(({ name }) => name === metric)!.value;
    const times = ['TaskDuration', 'ScriptDuration', 'LayoutDuration', 'RecalcStyleDuration'].map((metric) =>
      milliseconds(of(metric)),
    );
    rows.push([name, ...times, thousands(of('Nodes')), requests]);
    await context.close();
  }
  await browser.close();
  print(
    `${table(['view, opened', 'main thread', 'script', 'layout', 'style', 'DOM nodes', 'requests'], rows)}\n`,
  );
}

function milliseconds(seconds: number): string {
  return `${thousands(seconds * 1000)} ms`;
}
