import { describe, expect, it } from 'vitest';
import type { Warehouse } from '../../src/warehouse/connect.ts';
import { aMovingService } from '../support/moving-service.ts';
import { aJobFor, type BackfillSetting, refresh, runBackfill, runSync } from '../support/run-backfill.ts';
import { sqlIn } from '../support/warehouse-state.ts';

const day = { countries: ['US'], topics: ['Inflation-Food'], from: '2026-09-08', to: '2026-09-11' };
const minute = 60_000;

type Sent = { readonly id: string; readonly publication_time: string };
/** By how many minutes the service has corrected the times of some headlines; of two numbers, it sends both. */
type Corrections = Record<string, number | readonly [number, number]>;

/** A service that corrects times: each answer has the records whose corrected time is in the days that were requested. */
function correcting(original: readonly Sent[], by: Corrections): NonNullable<BackfillSetting['aroundPage']> {
  const all = original.flatMap((record) =>
    [by[record.id] ?? 0]
      .flat()
      .map((minutes) => ({ record, sent: { ...record, publication_time: later(record, minutes) } })),
  );
  return async (ask, { query }) => {
    const page = await ask();
    const isAsked = ({ publication_time }: Sent) =>
      publication_time.slice(0, 10) >= query.start_date! && publication_time.slice(0, 10) <= query.end_date!;
    const here = new Set(([...page.records] as Sent[]).map(({ id }) => id));
    const isHere = ({ record }: (typeof all)[number]) =>
      here.has(record.id) || (page.nextToken === null && !isAsked(record));
    return {
      ...page,
      records: all.filter((one) => isHere(one) && isAsked(one.sent)).map(({ sent }) => sent),
    };
  };
}

function later({ publication_time: time }: Sent, minutes: number): string {
  return minutes === 0 ? time : new Date(Date.parse(time) + minutes * minute).toISOString();
}

interface Version {
  readonly at: string;
  readonly from: string | null;
  readonly is_backfilled: boolean;
  readonly stands: boolean;
  readonly reasons: string[];
}

/** Every row of an id, with the reasons for which its versions were replaced. */
async function rowsOf(db: Warehouse, { id }: Sent): Promise<Version[]> {
  const rows = await sqlIn(db)<Version>`
    select to_char(published_at at time zone 'UTC', 'DD HH24:MI') as at,
           to_char(moved_from at time zone 'UTC', 'DD HH24:MI') as from, is_backfilled, retracted_at is null as stands,
           array(select reason from gmsi.headline_revisions r
                 where (r.country, r.topic, r.match_type, r.published_at, r.headline_id)
                     = (h.country, h.topic, h.match_type, h.published_at, h.headline_id) order by known_from) as reasons
    from gmsi.headlines h where headline_id = ${id}::uuid order by published_at`;
  return rows;
}

/** How many headlines stood at any moment since all were loaded. */
async function everCounted(db: Warehouse): Promise<Set<number>> {
  const rows = await sqlIn(db)<{ count: number }>`
    select distinct (select count(*)::int from gmsi.headlines_as_of(moment) where retracted_at is null) as count
    from (select distinct changed_at as moment from gmsi.headlines union select known_from from gmsi.headline_revisions) as m
    where moment >= (select max(first_seen_at) from gmsi.headlines)`;
  return new Set(rows.map(({ count }) => count));
}

async function enteredTwice(db: Warehouse): Promise<number> {
  const rows = await sqlIn(db)<{ count: number }>`
    select count(*) from (
      select headline_id from gmsi.headlines_point_in_time group by 1 having count(distinct entered_at) > 1) as twice`;
  return rows[0]!.count;
}

async function expectEachOnce(db: Warehouse, original: readonly Sent[]): Promise<void> {
  expect(await everCounted(db)).toEqual(new Set([original.length]));
  expect(await enteredTwice(db)).toBe(0);
}

/** A warehouse that was loaded once; what the service sent; and a load of all days again, with some times corrected. */
async function loaded(options: Record<string, unknown> = {}) {
  const service = await aMovingService('2026-10-20T00:00:00Z', { volume: 0.7 });
  const { db, sandbox, clock } = service;
  const job = aJobFor(day, {
    lookback: 'P0D',
    ...options,
    // One window at a time, so that the order is the one of the job.
    service: { end_date: 'inclusive', page_size: 10, concurrency: 1 },
  });
  const original: Sent[] = [];
  const run = { job, db, sandbox, clock };
  await runBackfill({
    ...run,
    async aroundPage(ask) {
      const page = await ask();
      original.push(...([...page.records] as Sent[]));
      return page;
    },
  });
  original.sort((a, b) => (a.publication_time < b.publication_time ? -1 : 1));
  expect(original.length).toBeGreaterThan(20);
  const again = (by: Corrections) =>
    runBackfill({ ...run, plan: refresh, aroundPage: correcting(original, by) });
  return {
    ...service,
    run,
    original,
    again,
    sentOn: (of: string) => original.find((one) => one.publication_time.startsWith(of))!,
  };
}

const at = ({ publication_time }: Sent) =>
  `${publication_time.slice(8, 10)} ${publication_time.slice(11, 16)}`;
/** Minutes from a record's time to a quarter of an hour before the midnight before it. */
const toTheDayBefore = ({ publication_time }: Sent) =>
  -(Number(publication_time.slice(11, 13)) * 60 + Number(publication_time.slice(14, 16)) + 15);

describe('a headline of which the service corrects the time', () => {
  it('counts once at any moment, and became known when it first came', async () => {
    await using warehouse = await loaded();
    const { db, original, again } = warehouse;
    const ids = original.map(({ id }) => id);
    const by = Object.fromEntries(ids.filter((_, n) => n % 3 === 0).map((id, n) => [id, n % 2 ? 40 : -40]));
    const moved = Object.keys(by).length;
    const { totals } = await again(by);
    expect(totals).toMatchObject({ rows_inserted: moved, rows_changed: 0, rows_retracted: moved });
    const reasons = await sqlIn(db)`
      select reason, count(*), count(distinct headline_id) as ids from gmsi.headline_revisions group by 1`;
    expect(reasons).toEqual([{ reason: 'moved', count: moved, ids: moved }]);
    const linked = await sqlIn(db)<{ id: string; minutes: number }>`
      select headline_id as id, (extract(epoch from published_at - moved_from) / 60)::int as minutes from gmsi.headlines
      where moved_from is not null`;
    expect(Object.fromEntries(linked.map(({ id, minutes }) => [id, minutes]))).toEqual(by);

    const again2 = await again(by);
    expect(again2.totals).toMatchObject({ rows_inserted: 0, rows_changed: 0, rows_retracted: 0 });
    const back = await again({});
    expect(back.totals).toMatchObject({ rows_inserted: 0, rows_changed: moved, rows_retracted: moved });
    await expectEachOnce(db, original);
  });

  it('may move by 24 hours from its first time; beyond that, it is another headline', async () => {
    await using warehouse = await loaded();
    const { db, again, sentOn } = warehouse;
    const record = sentOn('2026-09-09');
    await again({ [record.id]: 24 * 60 });
    expect(await rowsOf(db, record)).toMatchObject([
      { stands: false, reasons: ['moved'] },
      { from: at(record), stands: true },
    ]);
    await again({ [record.id]: 24 * 60 + 1 });
    expect(await rowsOf(db, record)).toMatchObject([
      { stands: false, reasons: ['moved'] },
      { stands: false, reasons: ['retracted'] },
      { from: null, stands: true, reasons: [] },
    ]);
  });

  it('counts with both times while the service sends both on pages apart', async () => {
    await using warehouse = await loaded();
    const { db, run, original } = warehouse;
    const record = original[3]!;
    // The newest page comes first, that of the record last.
    const sendBoth = () => {
      let pages = 0;
      return runBackfill({
        ...run,
        plan: refresh,
        async aroundPage(ask) {
          const page = await ask();
          const other = { ...record, publication_time: later(record, 40) };
          return ++pages === 1 ? { ...page, records: [...page.records, other] } : page;
        },
      });
    };
    await sendBoth();
    expect(await rowsOf(db, record)).toMatchObject([{ stands: true }, { stands: true }]);
    expect((await sendBoth()).totals).toMatchObject({ rows_inserted: 0, rows_changed: 0, rows_retracted: 0 });
  });

  it.each([
    ['one page', {}],
    ['windows apart', { step: 'P1D' }],
  ])('counts with both times while the service sends both, on %s', async (_, options) => {
    await using warehouse = await loaded(options);
    const { db, again, sentOn } = warehouse;
    const record = sentOn('2026-09-10');
    const minutes = toTheDayBefore(record);
    const stand = async () => (await rowsOf(db, record)).map(({ stands }) => stands);
    await again({ [record.id]: [0, minutes] });
    // A window does not know that another one has the headline, too. It learns that when the other one is drained again.
    if ('step' in options) await again({ [record.id]: [0, minutes] });
    expect(await stand()).toEqual([true, true]);
    const { totals } = await again({ [record.id]: [0, minutes] });
    expect(totals).toMatchObject({ rows_inserted: 0, rows_changed: 0, rows_retracted: 0 });
    await again({ [record.id]: minutes });
    expect(await stand()).toEqual([true, false]);
  });

  it.each(['oldest-first', 'newest-first'])(
    'counts once if it moves over the edge of a window, %s',
    async (order) => {
      await using warehouse = await loaded({ step: 'P1D', order });
      const { db, original, again, sentOn } = warehouse;
      const record = sentOn('2026-09-10');
      await again({ [record.id]: toTheDayBefore(record) });
      expect(await rowsOf(db, record)).toMatchObject([
        { at: '09 23:45', from: at(record), stands: true },
        { at: at(record), stands: false },
      ]);
      expect(await enteredTwice(db)).toBe(0);
      expect((await everCounted(db)).has(original.length + 1)).toBe(false);
      await again({});
      expect((await rowsOf(db, record)).map(({ stands }) => stands)).toEqual([false, true]);
    },
  );
});

it('counts once if the live feed has the corrected time first, and the historical feed has it later', async () => {
  await using service = await aMovingService('2026-11-20T12:00:00Z', { volume: 1 });
  const { db, sandbox, clock } = service;
  const scope = { ...day, from: '2026-11-14', to: '2026-11-20' };
  const run = { job: aJobFor(scope, { end_date: 'today', lookback: 'P3D' }), db, sandbox, clock };
  const answered: Sent[] = [];
  await runSync({
    ...run,
    async aroundPage(ask, { isLive }) {
      const page = await ask();
      if (isLive) answered.push(...([...page.records] as Sent[]));
      return page;
    },
  });
  const record = answered.at(answered.length / 2)!;
  const rows = await sqlIn(db)<{ count: number }>`select count(*) from gmsi.headlines`;
  const sync = (isCorrected: (isLive: boolean) => boolean) =>
    runSync({
      ...run,
      async aroundPage(ask, { isLive = false }) {
        const page = await ask();
        const minutes = isCorrected(isLive) ? -40 : 0;
        const sent = ([...page.records] as Sent[]).map((one) =>
          one.id === record.id ? { ...one, publication_time: later(one, minutes) } : one,
        );
        return { ...page, records: sent };
      },
    });
  const { totals } = await sync((isLive) => isLive);
  expect(totals).toMatchObject({ rows_inserted: 1, rows_changed: 0, rows_retracted: 1 });
  const corrected = [{ from: at(record), is_backfilled: true, stands: true }, { stands: false }];
  expect(await rowsOf(db, record)).toMatchObject(corrected);
  // As long as the two differ, the last answer counts.
  await sync((isLive) => isLive);
  expect(await rowsOf(db, record)).toMatchObject(corrected);
  for (const changed of [0, 0])
    expect((await sync(() => true)).totals).toMatchObject({
      rows_inserted: changed,
      rows_changed: 0,
      rows_retracted: 0,
    });
  expect(await rowsOf(db, record)).toMatchObject(corrected);
  expect(await everCounted(db)).toEqual(new Set([rows[0]!.count]));
  expect(await enteredTwice(db)).toBe(0);
});
