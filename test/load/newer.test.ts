import { utimes } from 'node:fs/promises';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { Warehouse } from '../../src/warehouse/connect.ts';
import { WarehouseClockWrong } from '../../src/warehouse/errors.ts';
import { aFolder, runImport, statedOfMany } from '../import/importing.ts';
import { aLog } from '../support/a-log.ts';
import { aHeadline, asRecord, aWatchingDesk, type Headline, utc } from '../support/a-watching-desk.ts';
import type { AroundPage } from '../support/pages.ts';
import { aJobFor, refresh, runBackfill, runSync } from '../support/run-backfill.ts';
import { sqlIn } from '../support/warehouse-state.ts';

/** What is newer is decided by when it was requested or made, never by when it arrives. */

const minute = 60_000;
const scope = { countries: ['US'], topics: ['Inflation-Food'] };
const aDeskJob = (from: string, to: string, overrides: object = {}) =>
  aJobFor({ ...scope, from, to }, { lookback: 'P0D', ...overrides, service: { end_date: 'inclusive' } }, to);

const scores = async (db: Warehouse) =>
  Object.fromEntries(
    (
      await sqlIn(db)<{ id: string; score: number }>`
        select headline_id as id, directional_score as score from gmsi.headlines where retracted_at is null`
    ).map(({ id, score }) => [id, score]),
  );
const scoresOf = (headlines: readonly Headline[]) =>
  Object.fromEntries(headlines.map(({ id, score }) => [id, score]));
const versions = async (db: Warehouse) =>
  (await sqlIn(db)<{ many: number }>`select count(*)::int as many from gmsi.headline_revisions`)[0]!.many;

describe('an answer from before a revision, committed after a newer one', () => {
  /** The service rescores each third headline, withdraws one and has a new one. */
  async function revise(desk: Awaited<ReturnType<typeof aWatchingDesk>>, instant: string) {
    desk.moveTo(`${instant}Z`);
    for (const [index, headline] of desk.headlines.entries()) if (index % 3 === 0) headline.score = -0.5;
    desk.headlines.at(-2)!.gone = utc(instant);
    desk.headlines.push(aHeadline(desk.headlines.at(-3)!.publishedAt + minute));
  }

  /** The answer as if the service had sent one headline with another score, only then. */
  const onceSaid = (records: readonly unknown[], index: number) =>
    records.map((record, n) => (n === index ? { ...(record as object), directional_positive: 0.9 } : record));

  it('changes nothing if it is of the live feed', async () => {
    await liveAfterNewer(false);
  });

  it('adds no headline of the live feed that was withdrawn before the newer one', async () => {
    await liveAfterNewer(true);
  });

  async function liveAfterNewer(isNew: boolean) {
    await using desk = await aWatchingDesk('2025-11-21T10:00');
    const { db, sandbox, clock, pages } = desk;
    for (let at = utc('2025-11-21T05:00'); at < utc('2025-11-21T10:00'); at += 10 * minute)
      desk.headlines.push(aHeadline(at));
    const job = aDeskJob('2025-11-19', '2025-12-31', { end_date: 'today', lookback: 'P1D' });
    await desk.load('2025-11-21T10:00', job);
    // The live answer is the only one that has it.
    const short = aHeadline(utc('2025-11-21T10:00:30'), { gone: utc('2025-11-21T10:01:30') });
    if (isNew) desk.headlines.unshift(short);
    const onlyLive = short.id;
    let before = 0;
    let held: string[] = [];
    const aroundPage: AroundPage = async (ask, request) => {
      const page = await pages(ask, request);
      if (request.query.start_date !== undefined)
        return { ...page, records: (page.records as Headline[]).filter(({ id }) => id !== onlyLive) };
      held = (page.records as Headline[]).map(({ id }) => id);
      await revise(desk, '2025-11-21T10:02');
      await runBackfill({ job, db, sandbox, clock, aroundPage: pages, servedBy: 'service' });
      before = await versions(db);
      desk.moveTo('2025-11-21T10:03Z');
      return { ...page, records: onceSaid(page.records, 4) };
    };
    await desk.load('2025-11-21T10:01', job, runSync, { aroundPage });
    expect(held.length).toBeGreaterThan(20);
    expect(await scores(db)).toEqual(
      scoresOf(desk.headlines.filter(({ gone }) => gone === Number.POSITIVE_INFINITY)),
    );
    expect(await versions(db)).toBe(before);
  }

  it('changes nothing if it is a window, of days that a newer one has had', async () => {
    await using desk = await aWatchingDesk('2025-11-21T10:00');
    const { db, sandbox, clock, pages } = desk;
    desk.publish('2025-11-01', '2025-11-10');
    await desk.load('2025-11-21T10:00', aDeskJob('2025-11-01', '2025-11-10'), runBackfill);
    const aroundPage: AroundPage = async (ask, request) => {
      const answer = await pages(ask, request);
      // It lacks one that the newer one confirms.
      const page = { ...answer, records: onceSaid(answer.records, 43).toSpliced(40, 1) };
      await revise(desk, '2025-11-21T10:02');
      // Of days of the window that is held, as after a lost lease.
      await sqlIn(db)`
        insert into gmsi.queue (series_id, first_day, last_day) select series_id, '2025-11-03', '2025-11-10' from gmsi.series`;
      const stop = new AbortController();
      const newer = runBackfill({
        job: aDeskJob('2025-11-03', '2025-11-10'),
        db,
        sandbox,
        clock,
        aroundPage: pages,
        servedBy: 'service',
        stop: stop.signal,
      });
      await vi.waitFor(
        async () => expect(await sqlIn(db)`select from gmsi.readings`).toHaveLength(2),
        20_000,
      );
      stop.abort();
      await newer;
      return page;
    };
    const older = await desk.load('2025-11-21T10:01', aDeskJob('2025-11-01', '2025-11-10'), runBackfill, {
      plan: refresh,
      aroundPage,
    });
    expect(older).toMatchObject({ outcome: 'done', totals: { rows_changed: 0, rows_retracted: 0 } });
    const newest = desk.headlines.filter(({ gone }) => gone === Number.POSITIVE_INFINITY);
    const isOfNewer = ({ publishedAt }: Headline) => publishedAt >= utc('2025-11-03');
    const old = newest
      .filter((one) => !isOfNewer(one))
      .map((one, index) => ({ ...one, score: ((index * 7) % 19) / 20 - 0.4 }));
    expect(await scores(db)).toEqual(scoresOf([...old, ...newest.filter(isOfNewer)]));
  });
});

describe('a file', () => {
  const headlines = Array.from({ length: 20 }, (_, n) => aHeadline(utc('2024-05-01') + n * 3 * 60 * minute));
  const days = { from: '2024-05-01', to: '2024-05-03' };

  async function aFileOf(
    folder: Awaited<ReturnType<typeof aFolder>>,
    name: string,
    madeAt: string,
    score: number,
  ) {
    const path = await folder.write(
      name,
      headlines.map((one) => JSON.stringify(asRecord({ ...one, score }))).join('\n'),
    );
    await utimes(path, new Date(`${madeAt}Z`), new Date(`${madeAt}Z`));
    return path;
  }

  it.each([
    ['alone', 'b-old.ndjson'],
    ['alone, of unknown days', 'b-old.ndjson'],
    ['with it, by a name that comes later', 'z-old.ndjson'],
  ])(
    'that is older than one before it changes nothing (%s), and the newer one again neither',
    async (how, name) => {
      await using desk = await aWatchingDesk('2025-11-21T10:00');
      const { db } = desk;
      await using folder = await aFolder();
      const older = await aFileOf(folder, name, '2024-06-01T00:00', 0.1);
      const newer = await aFileOf(folder, 'm-new.ndjson', '2024-07-01T00:00', 0.2);
      const imports = how.startsWith('alone') ? [[newer], [older], [newer]] : [[newer, older], [newer]];
      for (const paths of imports) {
        await runImport(db, paths, {
          stated: statedOfMany,
          days: how.includes('unknown') ? undefined : days,
        });
        expect(new Set(Object.values(await scores(db)).map((score) => Math.round(score * 10)))).toEqual(
          new Set([2]),
        );
      }
    },
  );

  it('changes nothing of what the service said later', async () => {
    await using desk = await aWatchingDesk('2025-11-21T10:00');
    const { db } = desk;
    desk.headlines.push(...headlines);
    await desk.load('2025-11-21T10:00', aDeskJob(days.from, days.to), runBackfill);
    await using folder = await aFolder();
    const path = await aFileOf(folder, 'old.ndjson', '2024-06-01T00:00', 0.1);
    const { loads } = await runImport(db, [path], { stated: statedOfMany, days });
    expect(loads).toMatchObject([{ totals: { records: 20, rows_inserted: 0, rows_changed: 0 } }]);
    expect(await scores(db)).toEqual(scoresOf(headlines));
  });
});

describe('a clock of this machine that differs from that of the database', () => {
  afterEach(() => {
    vi.useRealTimers();
  });
  const job = aDeskJob('2025-11-01', '2025-11-03');

  it.each([
    ['two hours ahead', 120 * minute],
    ['61 minutes behind', -61 * minute],
  ])('by more than an hour (%s) spends no request', async (_how, off) => {
    await using desk = await aWatchingDesk('2025-11-21T10:00');
    const { db, sandbox, clock } = desk;
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + off });
    for (const run of [runBackfill, runSync])
      await expect(run({ job, db, sandbox, clock })).rejects.toThrow(WarehouseClockWrong);
    expect(sandbox.stats().requests).toBe(0);
  });

  it.each([
    [3 * minute, 1],
    [0, 0],
  ])('by %i ms is warned of %i times', async (off, times) => {
    await using desk = await aWatchingDesk('2025-11-21T10:00');
    const { db, sandbox, clock, pages } = desk;
    const { log, lines } = aLog();
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + off });
    const run = { job, db, sandbox, clock, log, aroundPage: pages };
    expect(await runBackfill(run)).toMatchObject({ outcome: 'done' });
    expect(lines.filter(({ msg }) => msg.includes("warehouse's server differ"))).toHaveLength(times);
  });
});
