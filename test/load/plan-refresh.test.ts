import { type RawBuilder, sql } from 'kysely';
import { Temporal } from 'temporal-polyfill';
import { expect } from 'vitest';
import { planRefresh } from '../../src/plan/plan-refresh.ts';
import type { Warehouse } from '../../src/warehouse/connect.ts';
import { aJob } from '../support/run-backfill.ts';
import { it } from '../support/serving.ts';
import { aWindowIn, coverIn, sqlIn } from '../support/warehouse-state.ts';

const today = Temporal.PlainDate.from('2026-11-20');
const topic = 'Tension';
/** Ten days from a day on which every grid of five or ten days begins. */
const scope = {
  feed: 'gmsi-headlines',
  matchType: 'COMBINED',
  tickers: [''],
  variants: [''],
  countries: ['US', 'NO'],
  topics: [topic],
  from: '2025-02-16',
  to: '2025-02-25',
};

function aRefresh(perMonth: number, service = {}) {
  return aJob({
    step: 'P5D',
    schedule: { refresh: '0 3 1 * *' },
    budget: { requests_per_month: perMonth * 10, refresh_percent: 10 },
    service: { end_date: 'inclusive', ...service },
  });
}

/** A window that was drained at a moment; `null` for one that is still to be drained. */
const aWindow = (db: Warehouse, country: string, [first, last]: [string, string], at: string | null) =>
  aWindowIn(db, first, last, { country, topic, state: at ? 'drained' : 'pending', finished_at: at });

const covers = (db: Warehouse, country: string, days: string) => coverIn(db, days, { country, topic });

/** The windows that are to be drained. */
async function planned(db: Warehouse) {
  const rows = await sqlIn(db)<{ window: string }>`
    select concat_ws(' ', country, first_day, last_day) as window from gmsi.windows
    where state = 'pending' order by 1`;
  return rows.map(({ window }) => window);
}

it('takes days by when they were last drained, whatever windows they were in', async ({ db }) => {
  // All of US long ago, then its first days again, in two windows; NO between these.
  await aWindow(db, 'US', ['2025-02-12', '2025-03-10'], '2025-04-01');
  await aWindow(db, 'US', ['2025-02-15', '2025-02-18'], '2026-01-01');
  await aWindow(db, 'US', ['2025-02-18', '2025-02-20'], '2026-03-01');
  await aWindow(db, 'NO', ['2025-02-16', '2025-02-20'], '2026-02-01');
  await aWindow(db, 'NO', ['2025-02-21', '2025-02-25'], '2026-04-01');
  for (const country of ['US', 'NO']) await covers(db, country, '{[2025-02-12,2025-03-11)}');
  const rest = ['NO 2025-02-16 2025-02-20', 'NO 2025-02-21 2025-02-25', 'US 2025-02-16 2025-02-20'];
  expect(await planRefresh(db, aRefresh(1), scope, today)).toBe(1);
  expect(await planned(db)).toEqual(['US 2025-02-21 2025-02-25']);
  // What is left of a refresh counts.
  expect(await planRefresh(db, aRefresh(2), scope, today)).toBe(2);
  expect(await planned(db)).toEqual(['US 2025-02-16 2025-02-20', 'US 2025-02-21 2025-02-25']);
  expect(await planRefresh(db, aRefresh(100), scope, today)).toBe(4);
  expect(await planned(db)).toEqual([...rest, 'US 2025-02-21 2025-02-25']);
});

it("takes no more than the month's share leaves, by what was really sent", async ({ db }) => {
  await aWindow(db, 'US', ['2025-02-16', '2025-02-25'], '2025-04-01');
  await covers(db, 'US', '{[2025-02-16,2025-02-26)}');
  // Of the month by the clock that stamps loads, the database's.
  const thisMonth = sql`date_trunc('month', now(), 'UTC')`;
  const sent = (requests: number, startedAt: RawBuilder<unknown>, reason: string | null) =>
    sql`
    insert into gmsi.loads (command, job, feed, run_by, requests, reason, started_at)
    values ('backfill', 'test', 'gmsi-headlines', 'test', ${requests}, ${reason}, ${startedAt})`.execute(db);
  await sent(100, sql`${thisMonth} - interval '1 minute'`, 'refresh');
  await sent(100, thisMonth, null);
  await sent(4, thisMonth, 'refresh');
  expect(await planRefresh(db, aRefresh(4), scope, today)).toBe(0);
  expect(await planRefresh(db, aRefresh(5), scope, today)).toBe(1);
});

it('takes no days that are missing, settling, only imported, or to be drained anyway', async ({ db }) => {
  await aWindow(db, 'US', ['2025-02-16', '2025-02-20'], '2025-04-01');
  await covers(db, 'US', '{[2025-02-16,2025-02-20),[2025-02-21,2025-02-26)}');
  await covers(db, 'NO', '{[2025-02-16,2025-02-26)}');
  await aWindow(db, 'NO', ['2025-02-16', '2025-02-20'], '2025-04-01');
  await aWindow(db, 'NO', ['2025-02-20', '2025-02-20'], null);
  expect(await planRefresh(db, aRefresh(100), scope, today)).toBe(1);
  expect(await planned(db)).toEqual(['NO 2025-02-20 2025-02-20']);
  // With a lookback of three days, all may still change.
  const settling = Temporal.PlainDate.from('2025-02-19');
  expect(await planRefresh(db, aRefresh(100), { ...scope, countries: ['US'] }, settling)).toBe(0);
});

it('loads the whole period again if answers run to now', async ({ db }) => {
  await aWindow(db, 'US', ['2025-02-16', '2025-02-28'], '2025-04-01');
  await covers(db, 'US', '{[2025-02-16,2025-03-01)}');
  const openEnded = { ...scope, isOpenEnded: true };
  expect(await planRefresh(db, aRefresh(100, { end_date: 'ignored' }), openEnded, today)).toBe(1);
  expect(await planned(db)).toEqual(['US 2025-02-16 2026-11-20']);
});
