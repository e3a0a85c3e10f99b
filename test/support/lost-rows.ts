import { expect } from 'vitest';
import { findChecks, onlyThese } from '../../src/check/find-checks.ts';
import { runChecks } from '../../src/check/run-checks.ts';
import { catalog, feedNamed } from '../../src/feeds/catalog.ts';
import type { Warehouse } from '../../src/warehouse/connect.ts';
import type { WindowScope } from '../../src/warehouse/tables/series.ts';
import { sqlIn } from './warehouse-state.ts';

/** Expects that windows have counted rows, and that the check `lost-rows` finds every one of them, in all feeds. */
export async function expectNothingLost(db: Warehouse): Promise<void> {
  expect(await lostRows(db)).toEqual([]);
  const rows = await sqlIn(db)<{ counted: number }>`
    select coalesce(sum(n), 0)::int as counted from gmsi.windows cross join unnest(rows_met) as n`;
  expect(rows[0]!.counted).toBeGreaterThan(0);
}

/** What the check `lost-rows` finds in whatever windows there are, as if one job had planned all of a feed's. */
export async function lostRows(db: Warehouse): Promise<readonly object[]> {
  const scopes = await sqlIn(db)<WindowScope>`
    select feed, match_type as "matchType", array_agg(distinct country) as countries, array_agg(distinct topic) as topics,
           array_agg(distinct ticker) as tickers, array_agg(distinct variant) as variants,
           min(first_day)::text as from, max(last_day)::text as to
    from gmsi.windows group by 1, 2`;
  const jobs = scopes.map((window) => {
    const feed = feedNamed(window.feed);
    return {
      name: 'all',
      feed,
      scope: {
        window,
        table: feed.table,
        fields: [feed.fields],
        firstRequested: window.from,
        firstUnsettled: window.to,
      },
    };
  });
  const checks = onlyThese(await findChecks('/', [...catalog.keys()]), ['lost-rows']);
  const run = { rows: 20, timeout: 60, stop: new AbortController().signal };
  return (await runChecks(db, jobs, checks, run)).flat().flatMap(({ rows }) => rows);
}
