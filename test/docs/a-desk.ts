import { sql } from 'kysely';
import type { Warehouse } from '../../src/warehouse/connect.ts';
import { aMovingService } from '../support/moving-service.ts';
import { aJobFor, runBackfill, runSync } from '../support/run-backfill.ts';
import { stampAs } from '../support/stamp-as.ts';

const hour = 3_600_000;
const day = 24 * hour;

/** The series that the back-tests of docs/analysis.md read. */
const country = 'US';
const topic = 'Market Stress';

/** A record, as far as this file reads it. */
interface Sent {
  readonly id: string;
  readonly publication_time: string;
}

/** What the service served of a headline in a load, from then on. */
interface Version {
  readonly from: number;
  readonly publishedAt: number;
  /** Null if the service served the headline no longer. */
  readonly score: number | null;
}

/** A headline as the test saw it come, apart from the warehouse. */
export interface Seen {
  readonly id: string;
  /** When it became known: with the load that first had it, or before the watch, by its publication. */
  readonly enteredAt: number;
  readonly isAssumed: boolean;
  /** When the desk first had it. */
  readonly seenAt: number;
  readonly versions: Version[];
}

/** What a desk loaded, and when. */
export interface Desk {
  readonly db: Warehouse;
  readonly url: string;
  readonly headlines: ReadonlyMap<string, Seen>;
  /** Days (UTC) that a load requested. */
  readonly loaded: ReadonlySet<string>;
  /** When a load that began after a day's end first had it. */
  readonly wholeFrom: ReadonlyMap<string, number>;
  /** When the first load had days that were not settled. */
  readonly watch: { readonly here?: number };
  /** Loads everything again, as a refresh in the next year does, and the days that were not loaded. */
  loadLater(): Promise<void>;
}

const dayOf = (time: number) => new Date(time).toISOString().slice(0, 10);

const daysFrom = (first: string, last: string) =>
  Array.from({ length: (Date.parse(last) - Date.parse(first)) / day + 1 }, (_, n) =>
    dayOf(Date.parse(first) + n * day),
  );

const isBetween = (it: string, first: string, last: string) => it >= first && it <= last;

/** What a headline that was stamped on the hour may have been rounded down from. */
const publishedBy = (time: number) => (time % hour === 0 ? time + hour : time);

const lookbackDays = 3;

/** When a headline was published, as the service says by then: it corrects one of eight times a day later, within the day. */
function correctedTime(id: string, publishedAt: number, at: number): number {
  const isCorrected = /[05]$/.test(id) && at > publishedAt + day && publishedAt % day >= hour;
  return isCorrected ? publishedAt - 40 * 60_000 : publishedAt;
}

/**
 * A desk that backfills September to October 19, 2025, and watches from then on, with a clock of its own, so that the warehouse has
 * past stamps. It meets what back-tests stumble over: headlines that come late, are rescored, moved or withdrawn, times rounded to the hour,
 * clocks put back on November 2, a holiday, a half day, a weekend without loads, a week without loads, and days that nobody loads.
 */
export async function aDesk(): Promise<Desk & AsyncDisposable> {
  const changes = { late: 0.1, revised: 0.2, withdrawn: 0.05 };
  const world = { seed: 'demo', volume: 1, changes, records: { missingScores: 0.1 } };
  const service = await aMovingService('2025-10-20T05:40:00Z', world);
  const { db, sandbox, clock } = service;
  const headlines = new Map<string, Seen>();
  const loaded = new Set<string>();
  const watched = new Set<string>();
  const wholeFrom = new Map<string, number>();
  const watch: { here?: number } = {};

  async function loadAt(
    instant: string,
    load: typeof runBackfill | typeof runSync,
    from: string,
    to: string,
    plan = {},
  ) {
    service.moveTo(instant);
    const at = Date.parse(instant);
    const { rows } = await sql<{ at: string }>`select clock_timestamp()::text as at`.execute(db);
    const asked = new Set<string>();
    const live = new Map<string, string>();
    const job = aJobFor(
      { countries: [country], topics: [topic], from, to },
      { lookback: `P${lookbackDays}D`, service: { end_date: 'inclusive' } },
    );
    const result = await load({
      job,
      db,
      sandbox,
      clock,
      ...plan,
      aroundPage: async (ask, { query }) => {
        const page = await ask();
        const records = (page.records as Sent[]).map((record) => {
          const time = correctedTime(record.id, Date.parse(`${record.publication_time}Z`), at);
          return { ...record, publication_time: new Date(time).toISOString().slice(0, -1) };
        });
        if (query.start_date === undefined)
          for (const { id, publication_time } of records) live.set(id, publication_time.slice(0, 10));
        else for (const it of daysFrom(query.start_date, query.end_date!)) asked.add(it);
        return { ...page, records };
      },
    });
    if (result.outcome !== 'done') throw new Error(`the load at ${instant} ended with ${result.outcome}`);
    await stampAs(db, instant, rows[0]!.at);
    note(at, asked, live);
  }

  /** Takes down what the service had of the days that it was asked for, and what its live feed had of others. */
  function note(at: number, asked: ReadonlySet<string>, live: ReadonlyMap<string, string>) {
    const served = new Set<string>();
    for (const it of new Set([...asked, ...live.values()])) {
      const isSettled = Date.parse(it) < Date.parse(dayOf(at)) - lookbackDays * day;
      const isAssumed = it < dayOf(watch.here ?? at) && !loaded.has(it);
      if (asked.has(it)) {
        loaded.add(it);
        if (!isSettled) watched.add(it);
        if (it < dayOf(at) && !wholeFrom.has(it)) wholeFrom.set(it, at);
      }
      for (const record of sandbox.truth({ country, topic, from: it, to: it })) {
        const id = record.id!;
        if (!asked.has(it) && !live.has(id)) continue;
        served.add(id);
        const publishedAt = correctedTime(id, Date.parse(record.publishedAt), at);
        const score = record.directional.positive - record.directional.negative;
        const seen = headlines.get(id);
        const last = seen?.versions.at(-1);
        if (seen === undefined) {
          const enteredAt = isAssumed ? publishedBy(publishedAt) : Math.max(publishedAt, at);
          headlines.set(id, {
            id,
            enteredAt,
            isAssumed,
            seenAt: at,
            versions: [{ from: enteredAt, publishedAt, score }],
          });
        } else if (last!.score !== score || last!.publishedAt !== publishedAt)
          seen.versions.push({ from: at, publishedAt, score });
      }
    }
    if (watched.size > 0) watch.here ??= at;
    for (const { id, versions } of headlines.values()) {
      const { publishedAt, score } = versions.at(-1)!;
      if (asked.has(dayOf(publishedAt)) && !served.has(id) && score !== null)
        versions.push({ from: at, publishedAt, score: null });
    }
  }

  await loadAt('2025-10-20T05:40:00Z', runBackfill, '2025-09-01', '2025-09-20');
  await loadAt('2025-10-20T05:45:00Z', runBackfill, '2025-09-23', '2025-10-19');
  for (const today of daysFrom('2025-10-20', '2026-01-03')) {
    const isQuiet = today > '2025-12-09';
    const times = isQuiet ? ['20:05'] : ['05:40', '20:05'];
    // Often, after the weekend on which the clocks were put back, and on the half day.
    if (['2025-11-03', '2025-11-28'].includes(today))
      for (let it = 14 * 60 + 20; it < 18 * 60; it += 15)
        times.push(`${Math.floor(it / 60)}:${String(it % 60).padStart(2, '0')}`);
    // A weekend and a week without loads, and days that no job has.
    if (isBetween(today, '2025-11-08', '2025-11-09') || isBetween(today, '2025-11-17', '2025-11-23'))
      continue;
    if (isBetween(today, '2025-12-06', '2025-12-08')) continue;
    const period =
      today < '2025-12-06'
        ? (['2025-10-20', '2025-12-05'] as const)
        : (['2025-12-09', '2025-12-31'] as const);
    for (const time of times.toSorted()) await loadAt(`${today}T${time}:00Z`, runSync, period[0], period[1]);
  }

  return {
    db,
    url: service.url,
    headlines,
    loaded,
    wholeFrom,
    watch,
    loadLater: () =>
      loadAt('2026-02-01T05:40:00Z', runBackfill, '2025-09-01', '2025-12-31', {
        plan: { fullRefresh: true, retryRefused: false },
      }),
    [Symbol.asyncDispose]: () => service[Symbol.asyncDispose](),
  };
}
