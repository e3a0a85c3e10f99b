import fc from 'fast-check';
import { describe, expect } from 'vitest';
import type { FeedTable } from '../../src/feeds/feed.ts';
import { gmsiHeadlines } from '../../src/feeds/gmsi-headlines.ts';
import { remembered, rememberRows } from '../../src/load/met-rows.ts';
import { CursorWithoutEnd } from '../../src/service/cursor.ts';
import { sortedRows } from '../../src/warehouse/arrays.ts';
import { aStandIn } from '../support/a-stand-in.ts';
import { webServer } from '../support/other-servers.ts';
import {
  aJobFor,
  type BackfillSetting,
  refresh,
  runBackfill,
  runSync,
  stoppedAt,
  usualClock,
} from '../support/run-backfill.ts';
import { aSandbox, serving } from '../support/serving.ts';
import { heldBy, servedBy } from '../support/truth.ts';
import { coverageOf, windowsOf } from '../support/warehouse-state.ts';
import { firstPages, watchRequests } from '../support/watch-requests.ts';
import { idOf } from '../warehouse/a-row.ts';

const scope = { countries: ['US', 'DE'], topics: ['Inflation-Food'], from: '2026-09-01', to: '2026-09-15' };
const service = { end_date: 'inclusive', page_size: 20 };
const job = aJobFor(scope, { service });

const it = serving({ volume: 0.3 });

describe('a cursor that is broken', () => {
  it.for([
    ['repeats a token', 'repeat-token', /second time/],
    ['goes round in a circle', 'cycle-token', /second time/],
    ['lacks a token', 'missing-token', /no next_token/],
  ] as const)('because it %s fails its window alone', async ([_, kind, reason], { db, sandbox }) => {
    sandbox.script([{ kind, match: ({ path, token }) => path.endsWith('/US') && token !== null }]);

    const first = await runBackfill({ job, db, sandbox });
    expect(first).toMatchObject({ outcome: 'incomplete', totals: { windows_failed: 1, windows_drained: 1 } });
    expect(first.totals).toMatchObject({ windows_failed: 1, windows_drained: 1 });
    const failed = (await windowsOf(db)).find(({ state }) => state === 'failed')!;
    expect(failed).toMatchObject({ country: 'US', last_error: expect.stringMatching(reason) });
    const german = { ...scope, countries: ['DE'] };
    expect(await heldBy(db, german)).toEqual(servedBy(sandbox, german));

    const requests = watchRequests(sandbox);
    expect((await runBackfill({ job, db, sandbox })).outcome).toBe('done');
    expect(requests[0]!.token).toBe(failed.next_token);
    expect(firstPages(requests)).toEqual([]);
    expect(await heldBy(db, scope)).toEqual(servedBy(sandbox, scope));
  });

  it('on a first page, because it lacks a token, is begun anew by a rerun', async ({ db, sandbox }) => {
    sandbox.script([{ kind: 'missing-token', match: ({ token }) => token === null }]);
    expect((await runBackfill({ job, db, sandbox })).outcome).toBe('incomplete');
    expect((await runBackfill({ job, db, sandbox })).outcome).toBe('done');
    expect(await heldBy(db, scope)).toEqual(servedBy(sandbox, scope));
  });
});

it.for(['\0', '\ud800'])(
  'a next_token with %j fails its window, at one request a run',
  async (character, { db, sandbox }) => {
    const one = { ...scope, countries: ['US'] };
    const run = { job: aJobFor(one, { service }), db, sandbox };
    const requests = watchRequests(sandbox);
    for (const tries of [1, 2]) {
      const spoilt = await runBackfill({
        ...run,
        async aroundPage(ask) {
          const page = await ask();
          return { ...page, nextToken: `${page.nextToken}${character}` };
        },
      });
      expect(spoilt.outcome).toBe('incomplete');
      expect(requests).toHaveLength(tries);
    }
    const [window] = await windowsOf(db);
    expect(window!.last_error).toMatch(/^The service sent a next_token with a NUL or half a character/);
    expect((await runBackfill(run)).outcome).toBe('done');
    expect(await heldBy(db, one)).toEqual(servedBy(sandbox, one));
  },
);

it('an empty page that has a token is followed, wherever it is', async ({ db, sandbox }) => {
  sandbox.script([
    { kind: 'empty-page', match: ({ path, token }) => path.endsWith('/DE') && token === null },
    { kind: 'empty-page', times: 3, match: ({ token }) => token !== null },
  ]);
  expect((await runBackfill({ job, db, sandbox })).outcome).toBe('done');
  expect(sandbox.stats().faults['empty-page']).toBe(4);
  expect(await heldBy(db, scope)).toEqual(servedBy(sandbox, scope));
});

describe('a token that the service takes no longer', () => {
  const one = { ...scope, countries: ['US'] };
  const oneJob = aJobFor(one, { service });
  const hour = 3_600_000;

  it.for([400, 404, 422])('because it expired (%i) restarts its window', async (tokenErrorStatus, { db }) => {
    let now = usualClock().getTime();
    const moving = () => new Date(now);
    await using sandbox = await aSandbox({
      clock: moving,
      volume: 0.3,
      tokenLifetimeMs: hour,
      tokenErrorStatus,
    });
    await runBackfill({ job: oneJob, db, sandbox, clock: moving, ...stoppedAt(3) });
    now += 2 * hour;

    const requests = watchRequests(sandbox);
    expect((await runBackfill({ job: oneJob, db, sandbox, clock: moving })).outcome).toBe('done');
    expect(requests.slice(0, 2).map(({ token }) => token === null)).toEqual([false, true]);
    expect(firstPages(requests)).toHaveLength(1);
    const [window] = await windowsOf(db);
    expect(window).toMatchObject({ state: 'drained' });
    expect(window!.records).toBe(servedBy(sandbox, one).length);
    expect(await heldBy(db, one)).toEqual(servedBy(sandbox, one));
  });

  it("time and again, restarts twice, then fails with the service's words", async ({ db, sandbox }) => {
    const requests = watchRequests(sandbox, [
      { kind: 'refuse', times: 1e6, detail: 'Expired next_token', match: ({ token }) => token !== null },
    ]);
    const result = await runBackfill({ job: oneJob, db, sandbox });
    expect(result).toMatchObject({ outcome: 'incomplete', windows: { failed: 1 } });
    expect(requests.map(({ token }) => token === null)).toEqual([true, false, true, false, true, false]);
    const [window] = await windowsOf(db);
    expect(window).toMatchObject({ last_error: expect.stringContaining('Expired next_token') });

    sandbox.script([]);
    expect((await runBackfill({ job: oneJob, db, sandbox })).outcome).toBe('done');
    expect(await heldBy(db, one)).toEqual(servedBy(sandbox, one));
  });
});

describe('cursors that do not end', () => {
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

  /** A service of one country whose pages are what `answer` says, each with a token that was never seen. */
  async function aService(
    answer: (asked: Asked) => { data: unknown[]; has_more?: boolean; next_token?: string },
  ) {
    let pages = 0;
    let stamp = 0;
    const tokens: (string | null)[] = [];
    const service = await aStandIn(
      ({ request }, response) => {
        const token = new URL(request.url!, 'http://service').searchParams.get('next_token');
        tokens.push(token);
        if (token === null) pages = 0;
        const page = {
          has_more: true,
          next_token: `fresh ${stamp++}`,
          limit: 1000,
          ...answer({ pages, token }),
        };
        pages++;
        response.end(JSON.stringify(page));
        return true;
      },
      ['US'],
    );
    return { ...service, tokens };
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
          expect(result).toMatchObject({
            outcome: 'incomplete',
            totals: { windows_failed: 1, windows_drained: 0 },
          });
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
      await runBackfill({ job, db, sandbox, plan: refresh, ...stoppedAt(6) });
      expect((await windowsOf(db)).at(-1)).toMatchObject({ state: 'pending', is_compared: true });
      const result = await runBackfill({ job, db, sandbox });
      expect(result).toMatchObject({ outcome: 'done', totals: { rows_inserted: 0, rows_retracted: 0 } });
      expect(result.totals.pages).toBeGreaterThan(5);
    });

    it('may bring unreadable records alone, if they are others each time', async ({ db }) => {
      await using broken = await aService(({ pages }) => ({
        data: [unreadable(pages)],
        has_more: pages < 9,
      }));
      const lenient = { service: { ...service, max_rejected_percent: 100 } };
      const job = aJobFor({ ...scope, to: '2026-11-20' }, lenient);
      const result = await runSync({ job, db, sandbox: broken, servedBy: 'service' });
      expect(result.totals.records_rejected).toBeGreaterThanOrEqual(9);
      expect(result.windows.failed).toBe(0);
    });
  });
});

const window = { first_day: '2026-09-01', last_day: '2026-09-03' };
const table: FeedTable = {
  ...gmsiHeadlines.table,
  columns: { published_at: 'timestamptz', headline_id: 'uuid' },
  key: ['published_at', 'headline_id'],
};
const pageOf = (keys: readonly { time: string; id: string }[]) => ({
  rows: sortedRows(
    table,
    keys.map(({ time, id }) => ({ published_at: time, headline_id: id })),
  ),
  rejected: [],
  rejectedCount: 0,
  nextToken: 'more',
});
const page = (from: number, to: number, time = '2026-09-02T09:00:00Z') =>
  pageOf(Array.from({ length: to - from }, (_, n) => ({ time, id: idOf(from + n) })));

it('tells all rows apart whose times or ids differ, however little', () => {
  const time = fc
    .integer({ min: 0, max: 86_400 })
    .map((ms) => `2026-09-02T09:00:00.${String(ms).padStart(6, '0')}Z`);
  // Ids as they are counted up, drawn, or made from a clock, of which only the beginning or the end changes.
  const counted = fc.nat({ max: 1e9 }).map(idOf);
  const clocked = fc
    .nat({ max: 0xffffffff })
    .map((n) => `${n.toString(16).padStart(8, '0')}-1111-1111-8111-0242ac120002`);
  const key = fc.record({ time, id: fc.oneof(counted, clocked, fc.uuid()) });
  const nameOf = (one: { time: string; id: string }) => `${one.time} ${one.id}`;
  fc.assert(
    fc.property(fc.uniqueArray(key, { selector: nameOf, minLength: 500, maxLength: 1000 }), (keys) => {
      const met = rememberRows(window, 10);
      met.take(pageOf(keys));
      expect(met.perDay).toEqual([0, keys.length, 0]);
    }),
    { numRuns: 20 },
  );
});

it('counts no row twice if there are more than it remembers, and still finds a circle that begins late', () => {
  const met = rememberRows(window, 3);
  const size = 10_000;
  for (let from = 0; from < 1.5 * remembered; from += size) met.take(page(from, from + size));
  expect(met.perDay).toEqual([0, remembered, 0]);
  const pages = [2, 3, 4].map((nth) => page(nth * remembered, nth * remembered + size));
  const circle = () => {
    for (let round = 0; round < 20; round++) for (const one of pages) met.take(one);
  };
  expect(circle).toThrow(CursorWithoutEnd);
  expect(met.perDay).toEqual([0, remembered, 0]);
});
