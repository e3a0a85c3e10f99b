import { describe, expect } from 'vitest';
import { webServer } from '../support/other-servers.ts';
import { aJobFor, type BackfillSetting, runBackfill, runSync, stoppedAt } from '../support/run-backfill.ts';
import { aSandbox, it } from '../support/serving.ts';
import { heldBy, servedBy } from '../support/truth.ts';
import { coverageOf, windowsOf } from '../support/warehouse-state.ts';
import { firstPages, watchRequests } from '../support/watch-requests.ts';

const scope = { countries: ['US'], topics: ['Inflation-Food'], from: '2026-09-01', to: '2026-09-30' };
const limit = 4;
const service = { end_date: 'inclusive', page_size: 40, max_pages_without_news: limit };

/** A record that the real reader accepts; `n` makes it different from others. */
const record = (n: number) => ({
  id: `record ${n}`,
  publication_time: `2026-09-${String(1 + (n % 30)).padStart(2, '0')}T12:00:00`,
  topic_probability: 0.5,
  directional_positive: 0.2,
  directional_neutral: 0.3,
  directional_negative: 0.5,
});

const unreadable = (n: number) => ({ id: `broken ${n}`, publication_time: 'soon' });

interface Asked {
  /** How many pages were asked for before this one, since the last first page. */
  readonly pages: number;
  readonly token: string | null;
}

/** A service of the one country and topic, whose pages are what `answer` says, each with a token that was never seen. */
async function aService(
  answer: (asked: Asked) => { data: unknown[]; has_more?: boolean; next_token?: string },
) {
  let pages = 0;
  let stamp = 0;
  const tokens: (string | null)[] = [];
  const server = await webServer((request, response) => {
    const url = new URL(request.url!, 'http://service');
    const body = () => {
      if (url.pathname === '/v1/countries') return ['US'];
      if (url.pathname === '/v1/headlines/topics/gmsi') return ['Inflation-Food'];
      const token = url.searchParams.get('next_token');
      tokens.push(token);
      if (token === null) pages = 0;
      const page = {
        has_more: true,
        next_token: `fresh ${stamp++}`,
        limit: 1000,
        ...answer({ pages, token }),
      };
      pages++;
      return page;
    };
    response.setHeader('content-type', 'application/json').end(JSON.stringify(body()));
  });
  return { ...server, tokens };
}

const page = (from: number) => Array.from({ length: 40 }, (_, n) => record(from + n));
const rescored = (by: number) => page(0).map((one) => ({ ...one, topic_probability: by / 1e6 }));

describe('a cursor without end', () => {
  it.for([
    ['sends the first page for any token', () => ({ data: page(0) }), 1],
    ['goes round through three pages', ({ pages }: Asked) => ({ data: page(40 * (pages % 3)) }), 3],
    ['sends empty pages', () => ({ data: [] }), 0],
    ['sends the same records with other scores', ({ pages }: Asked) => ({ data: rescored(pages) }), 1],
    ['sends the same record that cannot be read', () => ({ data: [unreadable(1)] }), 1],
    ['shuffles what it sent', ({ pages }: Asked) => ({ data: page(pages % 8).reverse() }), 8],
    [
      'begins to repeat its last page late',
      ({ pages }: Asked) => ({ data: page(40 * Math.min(pages, 8)) }),
      9,
    ],
  ] as const)(
    'of a service that %s fails its window after a few requests',
    async ([_, answer, withNews], { db }) => {
      await using endless = await aService(answer);
      const job = aJobFor(scope, { service });
      for (let run = 1; run <= 2; run++) {
        const before = endless.tokens.length;
        const result = await runBackfill({ job, db, sandbox: endless, servedBy: 'service' });
        expect(result).toMatchObject({ outcome: 'incomplete', windows: { failed: 1, drained: 0 } });
        const requests = endless.tokens.slice(before);
        expect(requests.length).toBe(withNews + limit);
        // Begun anew: behind the cursor that went astray, pages may never have been sent.
        expect(requests.filter((token) => token === null)).toHaveLength(1);
        expect(requests[0]).toBeNull();
        const [window] = await windowsOf(db);
        expect(window).toMatchObject({ state: 'failed', next_token: null });
        expect(window!.last_error).toContain('4 pages in a row without a new record');
        expect(await coverageOf(db)).toEqual({});
      }
    },
  );

  it.for([
    [undefined, 10],
    [1, 1],
  ] as const)('that may have %i pages without news costs %i requests more', async ([max, more], { db }) => {
    await using endless = await aService(() => ({ data: page(0) }));
    const job = aJobFor(scope, { service: { ...service, max_pages_without_news: max } });
    await runBackfill({ job, db, sandbox: endless, servedBy: 'service' });
    expect(endless.tokens).toHaveLength(1 + more);
  });

  it('is loaded whole by a rerun once the service is well again', async ({ db }) => {
    await using sandbox = await aSandbox();
    const job = aJobFor(scope, { service });
    // Sends the page before once more, under a new token, from the third one on.
    let asked = 0;
    let last: Awaited<ReturnType<Parameters<NonNullable<BackfillSetting['aroundPage']>>[0]>> | undefined;
    const astray: BackfillSetting['aroundPage'] = async (ask) => {
      if (++asked > 3) return { ...last!, nextToken: `fresh ${asked}` };
      const page = await ask();
      // Records can be read once.
      last = { ...page, records: [...page.records] };
      return last;
    };
    expect(await runBackfill({ job, db, sandbox, aroundPage: astray })).toMatchObject({
      outcome: 'incomplete',
    });
    expect(asked).toBe(3 + limit);
    const requests = watchRequests(sandbox);
    expect(await runBackfill({ job, db, sandbox })).toMatchObject({ outcome: 'done' });
    expect(firstPages(requests)).toHaveLength(1);
    expect(await heldBy(db, scope)).toEqual(servedBy(sandbox, scope));
  });

  it('is found out again by a process that takes the window up half drained', async ({ db }) => {
    await using endless = await aService(({ pages }) => ({ data: page(40 * (pages % 5)) }));
    const job = aJobFor(scope, { service });
    const run = { job, db, sandbox: endless, servedBy: 'service' } as const;
    await runBackfill({ ...run, ...stoppedAt(4) });
    expect((await windowsOf(db))[0]).toMatchObject({ state: 'pending', pages: 4 });
    const before = endless.tokens.length;
    expect(await runBackfill(run)).toMatchObject({ outcome: 'incomplete' });
    expect(endless.tokens[before]).not.toBeNull();
    // The page or two of the five that it had not met, and no round more.
    expect(endless.tokens.length - before).toBe(5 - 4 + limit);
  });

  it('of a lookup ends the run instead of the budget', async ({ db }) => {
    let asked = 0;
    await using sandbox = await webServer((_, response) => {
      response.end(JSON.stringify({ data: ['US', 'DE'], has_more: true, next_token: `fresh ${asked++}` }));
    });
    const run = runBackfill({ job: aJobFor(scope), db, sandbox, servedBy: 'service' });
    await expect(run).rejects.toThrow('without a new record');
    expect(asked).toBe(4);
  });
});

describe('a window whose cursor is well', () => {
  it('may have empty pages in a row, one less than the limit, time and again', async ({ db }) => {
    await using quiet = await aService(({ pages }) => {
      const isNews = pages % limit === limit - 1;
      return { data: isNews ? page(40 * pages) : [], has_more: pages < 5 * limit - 1 };
    });
    const job = aJobFor(scope, { service });
    const result = await runBackfill({ job, db, sandbox: quiet, servedBy: 'service' });
    expect(result).toMatchObject({ outcome: 'done', totals: { pages: 20, records: 200 } });
  });

  it('may bring only rows the table has, also when taken up half drained', async ({ db }) => {
    await using sandbox = await aSandbox({ volume: 0.3 });
    const job = aJobFor(scope, { service: { ...service, page_size: 10, max_pages_without_news: 1 } });
    await runBackfill({ job, db, sandbox });
    const plan = { fullRefresh: true, retryRefused: false };
    await runBackfill({ job, db, sandbox, plan, ...stoppedAt(6) });
    expect((await windowsOf(db))[0]).toMatchObject({ state: 'pending', is_compared: true });
    const result = await runBackfill({ job, db, sandbox });
    expect(result).toMatchObject({ outcome: 'done', totals: { rows_inserted: 0, rows_retracted: 0 } });
    expect(result.totals.pages).toBeGreaterThan(5);
  });

  it('may bring unreadable records alone, if they are others each time', async ({ db }) => {
    await using broken = await aService(({ pages }) => ({ data: [unreadable(pages)], has_more: pages < 9 }));
    const lenient = { service: { ...service, max_rejected_percent: 100 } };
    const job = aJobFor({ ...scope, to: '2026-11-20' }, lenient);
    const result = await runSync({ job, db, sandbox: broken, servedBy: 'service' });
    expect(result.totals.records_rejected).toBeGreaterThanOrEqual(9);
    expect(result.windows.failed).toBe(0);
  });
});
