import { sql } from 'kysely';
import { describe, expect } from 'vitest';
import type { Warehouse } from '../../src/warehouse/connect.ts';
import { expectNothingLost, lostRows } from '../support/lost-rows.ts';
import { aJobFor, runBackfill, stoppedAt } from '../support/run-backfill.ts';
import { aSandbox, serving } from '../support/serving.ts';
import { heldBy, servedBy } from '../support/truth.ts';
import { countRows, coverageOf, sqlIn, windowsOf } from '../support/warehouse-state.ts';
import { watchRequests } from '../support/watch-requests.ts';
import { breakAt } from './break-at.ts';

const scope = { countries: ['US', 'DE'], topics: ['Inflation-Food'], from: '2026-09-01', to: '2026-09-30' };
const job = aJobFor(scope, {
  step: 'P15D',
  service: { end_date: 'inclusive', page_size: 10, concurrency: 3 },
});

const it = serving({ volume: 0.3 });

describe('a run that is stopped and taken up again', () => {
  it('spends no request twice and goes on with the very token it had kept', async ({ db, sandbox }) => {
    const first = await runBackfill({ job, db, sandbox, ...stoppedAt(8) });
    expect(first).toMatchObject({ outcome: 'interrupted', windows: { draining: 0, failed: 0 } });
    expect(first.totals.pages).toBeLessThan(sandbox.stats().pages + 1);

    const kept = (await windowsOf(db)).filter(({ next_token }) => next_token !== null);
    const committed = await countRows(db, 'headlines');
    expect(committed).toBe(sum((await windowsOf(db)).map(({ records }) => records)));

    const requests = watchRequests(sandbox);
    const second = await runBackfill({ job, db, sandbox });
    expect(second.outcome).toBe('done');
    const firstOfEach = new Map<string, string | null>();
    for (const { path, query, token } of requests) {
      const window = `${path} ${query.start_date}`;
      if (!firstOfEach.has(window)) firstOfEach.set(window, token);
    }
    for (const { country, first_day, next_token } of kept) {
      const window = `/v1/headlines/feed/historical/gmsi/${country} ${first_day}`;
      expect(firstOfEach.get(window)).toBe(next_token);
    }
    expect(sandbox.stats().pagesServedTwice).toBe(0);
    expect(sandbox.stats().cursorReadsAtOnce).toBe(1);
    expect(first.totals.pages + second.totals.pages).toBe(sandbox.stats().pages);
    expect(Number(second.totals.requests)).toBe(second.totals.pages);
    // By which the check lost-rows finds what is gone: of pages before the stop as of those after it.
    expect(sum((await windowsOf(db)).flatMap(({ rows_met }) => rows_met ?? []))).toBe(
      await countRows(db, 'headlines'),
    );
    expect(await heldBy(db, scope)).toEqual(servedBy(sandbox, scope));
  });

  it('on every page, has asked for each page once in the end, and counts each row once', async ({ db }) => {
    await using sandbox = await aSandbox({ volume: 0.08 });
    sandbox.script([{ kind: 'duplicate-record', times: 1e6 }]);
    const outcomes: string[] = [];
    while (outcomes.at(-1) !== 'done' && outcomes.length < 60) {
      outcomes.push((await runBackfill({ job, db, sandbox, ...stoppedAt(1) })).outcome);
      expect(await lostRows(db)).toEqual([]);
    }
    expect(outcomes.length).toBeGreaterThan(5);
    expect(outcomes.at(-1)).toBe('done');
    await expectNothingLost(db);
    expect(sandbox.stats().pagesServedTwice).toBe(0);
    expect(await heldBy(db, scope)).toEqual(servedBy(sandbox, scope));
  });
});

describe('a page whose claim is lost', () => {
  it.for([
    ['another load has taken the window', sql`load_id = load_id + 1000`, 'first'],
    ['another load has taken the window by the second try', sql`load_id = load_id + 1000`, 'second'],
    ['the window was given back', sql`state = 'pending'`, 'second'],
    ['somebody has moved its checkpoint', sql`pages = pages + 1`, 'first'],
    ['somebody has changed its token', sql`next_token = 'another'`, 'first'],
  ] as const)('because %s, is rolled back whole', async ([_, change, which], { db, sandbox }) => {
    const one = { ...scope, countries: ['US'] };
    const stop = new AbortController();
    const slow = aJobFor(one, { service: { end_date: 'inclusive', page_size: 8, concurrency: 1 } });
    let asked = 0;
    const result = await runBackfill({
      job: slow,
      db,
      sandbox,
      stop: stop.signal,
      aroundPage: async (ask) => {
        const page = await ask();
        if (++asked === 3) {
          await committedPages(db, 2);
          if (which === 'second') await breakAt(db, undefined, 1);
          await sqlIn(db)`update gmsi.windows set ${change}`;
          stop.abort();
        }
        return page;
      },
    });
    expect(result.outcome).toBe('interrupted');
    expect(result.totals.pages).toBe(2);
    expect(await countRows(db, 'headlines')).toBe(16);
    expect((await windowsOf(db))[0]).toMatchObject({ records: 16, rows_inserted: 16 });
    expect(await coverageOf(db)).toEqual({});
  });
});

/** Waits until the checkpoint of the only window is after this many pages. */
async function committedPages(db: Warehouse, pages: number): Promise<void> {
  for (;;) {
    const [window] = await windowsOf(db);
    if (window!.pages === pages) return;
  }
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
