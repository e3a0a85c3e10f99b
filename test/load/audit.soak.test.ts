import { expect, it } from 'vitest';
import { feedNamed } from '../../src/feeds/catalog.ts';
import { aFolder, runImport, statedOfMany } from '../import/importing.ts';
import { aHeadline, answersOf, asRecord, utc } from '../support/a-watching-desk.ts';
import { aMovingService } from '../support/moving-service.ts';
import type { AroundPage } from '../support/pages.ts';
import { aJobFor, refresh, runBackfill, runSync } from '../support/run-backfill.ts';
import { loadAs } from '../support/stamp-as.ts';
import { sqlIn } from '../support/warehouse-state.ts';

const hour = 3_600_000;
const day = 24 * hour;
const dayOf = (time: number | string) => new Date(time).toISOString().slice(0, 10);
const liveHours = feedNamed('gmsi-headlines').live!.hours;

/** A headline as answers have shown it. */
interface Shown {
  readonly publishedAt: number;
  /** True if it came with its day, of before the watch: it is assumed to have been known from publication. */
  readonly isAssumed: boolean;
  /** No window has had it yet. */
  isOnlyLive: boolean;
  /** Its scores, and since when; `null` from when an answer lacked it. */
  readonly versions: { readonly from: number; readonly score: number | null }[];
}

type Sent = Readonly<
  Record<'id' | 'publication_time', string> & Record<'directional_positive' | 'directional_negative', number>
>;

/** What answers of the service have shown of a series, apart from the warehouse. */
function aLedger() {
  const headlines = new Map<string, Shown>();
  const asked = new Set<string>();
  let watchedSince = Number.POSITIVE_INFINITY;
  /** The ids of a window so far. */
  const met = new Map<string, Set<string>>();

  function show(
    { id, publication_time, directional_positive, directional_negative }: Sent,
    at: number,
    isLive: boolean,
  ) {
    const publishedAt = Date.parse(`${publication_time}Z`);
    const score = directional_positive - directional_negative;
    const known = headlines.get(id);
    if (!known) {
      const isAssumed =
        dayOf(publishedAt) < dayOf(Math.min(at, watchedSince)) && !asked.has(dayOf(publishedAt));
      headlines.set(id, { publishedAt, isAssumed, isOnlyLive: isLive, versions: [{ from: at, score }] });
      return;
    }
    if (!isLive) known.isOnlyLive = false;
    if (known.versions.at(-1)!.score !== score) known.versions.push({ from: at, score });
  }

  return {
    headlines,
    get watchedSince() {
      return watchedSince;
    },
    /** A live answer, or a file: they show no headline to be gone. */
    part(records: readonly Sent[], at: number, isLive: boolean) {
      for (const record of records) show(record, at, isLive);
    },
    page(from: string, to: string, records: readonly Sent[], isLast: boolean, at: number) {
      const window = `${from} ${to}`;
      const ids = met.get(window) ?? new Set();
      met.set(window, ids);
      for (const record of records) {
        ids.add(record.id);
        show(record, at, false);
      }
      if (!isLast) return;
      met.delete(window);
      for (const [id, { publishedAt, isOnlyLive, versions }] of headlines) {
        if (
          ids.has(id) ||
          dayOf(publishedAt) < from ||
          dayOf(publishedAt) > to ||
          versions.at(-1)!.score === null
        )
          continue;
        if (!isOnlyLive || publishedAt < at - liveHours * hour) versions.push({ from: at, score: null });
      }
      for (let each = Date.parse(from); each <= Date.parse(to); each += day) asked.add(dayOf(each));
      if (to >= dayOf(at)) watchedSince = Math.min(watchedSince, at);
    },
    /** What entered in the time before a moment, and counts then. */
    at(moment: number, over: number, isStrict: boolean): { id: string; score: number }[] {
      const isWatched = moment >= watchedSince;
      return [...headlines].flatMap(([id, { publishedAt, isAssumed, versions }]) => {
        const [first] = versions;
        if (isAssumed && (isWatched ? first!.from > moment : isStrict)) return [];
        const known = publishedAt % hour === 0 ? publishedAt + hour : publishedAt;
        const entered = isAssumed ? known : Math.max(publishedAt, first!.from);
        if (entered <= moment - over || entered > moment) return [];
        const { score } = versions.findLast(({ from }) => from <= moment) ?? first!;
        return score === null ? [] : [{ id, score }];
      });
    },
  };
}

it('two weeks of a desk show no look-ahead: each decision counts what its answers had shown, once', async () => {
  const changes = { late: 0.1, revised: 0.2, withdrawn: 0.05 };
  await using service = await aMovingService('2025-10-10T02:00:00Z', { volume: 2, changes });
  const { db, sandbox, clock } = service;
  const ledgers = { US: aLedger(), DE: aLedger() };
  const of = (path: string) => ledgers[path.split('/').at(-1) as keyof typeof ledgers];
  const jobOf = (countries: string[], lookback: string) =>
    aJobFor(
      { countries, topics: ['Inflation-Food'], from: '2025-10-01', to: '2025-12-31' },
      { end_date: 'today', lookback, service: { end_date: 'inclusive', page_size: 40 } },
      '2025-12-31',
    );
  const [one, second] = [jobOf(['US'], 'P3D'), jobOf(['DE', 'US'], 'P5D')];
  const aroundPage: AroundPage = async (ask, { path, query: { start_date: from, end_date: to } }) => {
    const page = await ask();
    const at = clock().getTime();
    const records = page.records as Sent[];
    if (from === undefined) of(path).part(records, at, true);
    else of(path).page(from, to!, records, page.nextToken === null, at);
    return page;
  };
  const moments: number[] = [];
  for (let at = utc('2025-10-03T03:00'); at <= utc('2025-10-24T03:00'); at += 6 * hour) moments.push(at);
  let loads = 0;
  const asTold = new Map<string, unknown>();
  const load = async (
    instant: string,
    job: typeof one,
    run: typeof runBackfill | typeof runSync = runSync,
    setting = {},
  ) => {
    service.moveTo(`${instant}Z`);
    const setup = { job, db, sandbox, clock, servedBy: 'service', aroundPage, ...setting } as const;
    const { outcome } = await loadAs(db, `${instant}Z`, () => run(setup));
    expect(outcome, instant).toBe('done');
    loads++;
  };

  for (let n = 10; n <= 24; n++) {
    const date = `2025-10-${n}`;
    const isOut = n >= 17 && n <= 19;
    if (isOut) continue;
    const isPaused = n >= 13 && n <= 16;
    await load(`${date}T02:00`, one, runBackfill);
    if (n === 10) await load(`${date}T02:10`, second, runBackfill);
    for (const time of ['05:20', '08:20', '14:20', '20:20']) {
      await load(`${date}T${time}`, one);
      if (!isPaused && (time === '08:20' || time === '20:20'))
        await load(`${date}T${time.replace(':20', ':40')}`, second);
    }
    if (n === 15) {
      const records = [1, 2, 3].map((minute) =>
        asRecord(aHeadline(utc('2025-10-11T10:00') + minute * 60_000)),
      );
      await using folder = await aFolder();
      const path = await folder.write(
        'late.ndjson',
        records.map((record) => JSON.stringify(record)).join('\n'),
      );
      service.moveTo(`${date}T21:00Z`);
      const days = { from: '2025-10-11', to: '2025-10-11' };
      const imported = () =>
        runImport(db, [path], { stated: statedOfMany, days, clock, databaseClock: async () => clock() });
      await loadAs(db, `${date}T21:00Z`, imported);
      ledgers.US.part(records, utc(`${date}T21:00`), false);
    }
    if (n === 23) await load(`${date}T22:00`, one, runBackfill, { plan: refresh });
    // What is answered for a moment now is answered for ever.
    const sofar = moments.filter((at) => at > utc(date) && at < utc(date) + 22 * hour);
    for (const country of ['US', 'DE'])
      for (const { moment, count, sum } of await answersOf(db, sofar, { country }))
        asTold.set(`${country} ${moment.toISOString()}`, [count, sum]);
  }

  const states = new Map<string, number>();
  for (const country of ['US', 'DE'] as const)
    for (const isStrict of [false, true])
      for (const over of [6, 24]) {
        const ledger = ledgers[country];
        const seen = new Set<string>();
        let twice = 0;
        for (const { moment, state, count, sum } of await answersOf(db, moments, {
          country,
          isStrict,
          over: `${over} hours`,
        })) {
          const at = moment.getTime();
          const counted = ledger.at(at, over * hour, isStrict);
          const about = `${country} ${moment.toISOString()} over ${over} h${isStrict ? ', strict' : ''}: ${state}`;
          expect(count, about).toBe(counted.length);
          expect(sum, about).toBeCloseTo(
            counted.reduce((total, { score }) => total + score, 0),
            9,
          );
          if (at >= ledger.watchedSince) expect(['covered', 'settling', 'late'], about).toContain(state);
          else expect(state, about).toBe(isStrict ? 'backfilled' : 'assumed');
          if (!isStrict && over === 24) {
            states.set(state, (states.get(state) ?? 0) + 1);
            const told = asTold.get(`${country} ${moment.toISOString()}`);
            if (told) expect([count, sum], about).toEqual(told);
          }
          if (over === 6)
            for (const { id } of counted) {
              if (seen.has(id)) twice++;
              seen.add(id);
            }
        }
        expect(twice).toBe(0);
        if (isStrict || over !== 6) continue;
        // Each headline that came and stayed until the next decision is counted.
        const stayed = [...ledger.headlines].filter(([, { publishedAt, versions }]) => {
          const entered = Math.max(
            publishedAt,
            versions[0]!.from >= ledger.watchedSince ? versions[0]!.from : 0,
          );
          const next = moments.find((at) => at >= entered);
          return (
            publishedAt > moments[0]! &&
            next !== undefined &&
            !versions.some(({ from, score }) => score === null && from <= next)
          );
        });
        expect(stayed.filter(([id]) => !seen.has(id)).map(([id]) => id)).toEqual([]);
        expect(seen.size).toBeGreaterThan(200);
      }
  expect(loads).toBeGreaterThan(70);
  expect([...states.keys()].toSorted()).toEqual(['assumed', 'covered', 'late', 'settling']);
  expect(states.get('late')).toBeGreaterThan(10);
  const versions = [...ledgers.US.headlines.values()].flatMap((shown) => shown.versions.slice(1));
  expect(versions.filter(({ score }) => score === null).length).toBeGreaterThan(10);
  expect(versions.length).toBeGreaterThan(40);
  const differing = await sqlIn(db)`
    select from gmsi.series_days c cross join lateral gmsi.derive_days(c.series_id) as d
    where (c.loaded, c.whole, c.covered, c.watch_here, c.watch_on) is distinct from (d.loaded, d.whole, d.covered, d.watch_here, d.watch_on)`;
  expect(differing).toEqual([]);
}, 900_000);
