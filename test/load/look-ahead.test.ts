import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { aFolder, runImport, statedOfMany } from '../import/importing.ts';
import { aHeadline, answersOf, asRecord, aWatchingDesk, utc } from '../support/a-watching-desk.ts';
import { aJobFor, refresh, runBackfill } from '../support/run-backfill.ts';
import { sqlIn } from '../support/warehouse-state.ts';
import { aPage } from '../web/a-page.ts';

/** What counts as known at a moment, as the program loads it; §3 of the design of the ledger, in docs/architecture.md. */

const hour = 3_600_000;
const day = 24 * hour;
const scope = { countries: ['US'], topics: ['Inflation-Food'], from: '2025-10-01', to: '2025-12-31' };
const aDeskJob = (overrides: object = {}, period: object = {}) =>
  aJobFor(
    { ...scope, ...period },
    { end_date: 'today', lookback: 'P3D', ...overrides, service: { end_date: 'inclusive' } },
    '2025-12-31',
  );
const job = aDeskJob();
const evening = (date: string) => `2025-${date}T21:00`;

describe('a series that is watched from October 14, with an outage from November 5 to 11', () => {
  let desk: Awaited<ReturnType<typeof aWatchingDesk>>;
  const sixHourly: number[] = [];
  for (let at = utc('2025-10-02T03:00'); at <= utc('2025-11-11T21:00'); at += 6 * hour) sixHourly.push(at);
  const outage = ['11-06', '11-07', '11-08', '11-09', '11-10'].map(evening);

  beforeAll(async () => {
    desk = await aWatchingDesk('2025-10-14T10:00');
    // Every seventh comes two days late, every eleventh two weeks.
    desk.publish('2025-09-01', '2025-11-12', (n) => (n % 7 === 0 ? 2 * day : n % 11 === 0 ? 14 * day : 0));
    await desk.load('2025-10-14T10:00', job, runBackfill);
    for (let at = utc('2025-10-14T12:00'); at < utc('2025-11-02T20:00'); at += 44 * hour)
      await desk.load(new Date(at).toISOString().slice(0, 16), job);
    for (let at = utc('2025-11-03T00:15'); at < utc('2025-11-05T21:00'); at += 4 * hour)
      await desk.load(new Date(at).toISOString().slice(0, 16), job);
    await desk.load('2025-11-11T06:15', job);
  }, 120_000);
  afterAll(() => desk?.[Symbol.asyncDispose]());

  const asLedgered = async (moments: readonly number[], days = 1, isStrict = false) => {
    const answers = await answersOf(desk.db, moments, { over: `${days} days`, isStrict });
    for (const { moment, state, count, sum } of answers) {
      const ledger = desk.expected(moment.getTime(), days * day, isStrict);
      const about = `${moment.toISOString()} ${state}`;
      expect(count, about).toBe(ledger.count);
      expect(sum, about).toBeCloseTo(ledger.sum, 9);
    }
    return answers;
  };

  /** How many headlines of a day the service had by then. */
  const cameOf = (date: string, by: string) =>
    desk.headlines.filter(
      ({ publishedAt, since }) =>
        Math.floor((publishedAt - utc(`2025-${date}`)) / day) === 0 && since <= utc(`2025-${by}`),
    ).length;

  it('counts what came on November 11 from then on', async () => {
    const rows = await sqlIn(desk.db)`
      select is_backfilled, first_seen_at, count(*)::int as many from gmsi.headlines
      where published_at >= '2025-11-06 00:00+00' and published_at < '2025-11-11 00:00+00' group by 1, 2`;
    const late = desk.headlines.filter(
      ({ publishedAt, since }) =>
        publishedAt >= utc('2025-11-06') &&
        publishedAt < utc('2025-11-11') &&
        since <= utc('2025-11-11T06:15'),
    );
    expect(late.length).toBeGreaterThan(30);
    expect(rows).toEqual([
      { is_backfilled: false, first_seen_at: new Date('2025-11-11T06:15Z'), many: late.length },
    ]);
  });

  it('answers of the days of the outage that they are late, with nothing that was not known', async () => {
    expect((await answersOf(desk.db, outage)).map(({ state, count }) => [state, count])).toEqual(
      outage.map(() => ['late', 0]),
    );
    for (const isStrict of [false, true])
      expect(
        (await answersOf(desk.db, ['2025-11-05T18:00', '2025-11-11T12:00'], { isStrict })).map(
          ({ state }) => state,
        ),
      ).toEqual(['covered', 'settling']);
  });

  it('answers of the days before the watch by assumption, or not at all', async () => {
    const moments = [evening('10-05')];
    const [assumed] = await answersOf(desk.db, moments);
    expect(assumed).toMatchObject({ state: 'assumed', count: desk.expected(utc(moments[0]!), day).count });
    expect(assumed!.count).toBeGreaterThan(5);
    expect(await answersOf(desk.db, moments, { isStrict: true })).toMatchObject([
      { state: 'backfilled', count: 0 },
    ]);
  });

  it('answers of each moment what the ledger of the answers has', async () => {
    const answers = await asLedgered(sixHourly);
    expect(answers.filter(({ count }) => count > 0).length).toBeGreaterThan(100);
    await asLedgered(sixHourly, 1, true);
    await asLedgered(sixHourly.slice(-100), 7);
  });

  it('answers the same by moment and by day', async () => {
    const [one] = await sqlIn(desk.db)`
      select state, headline_count from gmsi.signals(array[timestamptz '2025-11-08 21:00+00'], 'US', 'Inflation-Food')`;
    expect(one).toEqual({ state: 'late', headline_count: 0 });
    const daily = (delay: string) => sqlIn(desk.db)<{ day: string; state: string; headlines: number }>`
      select day::text, state, all_count as headlines
      from gmsi.sentiment_daily_as_known('2025-11-03', '2025-11-10', 'US', 'Inflation-Food', delay => ${delay}) order by day`;
    expect((await daily('1 hour')).slice(2)).toEqual([
      { day: '2025-11-05', state: 'late', headlines: cameOf('11-05', '11-05T20:15') },
      ...['06', '07', '08', '09', '10'].map((of) => ({ day: `2025-11-${of}`, state: 'late', headlines: 0 })),
    ]);
    expect((await daily('12 hours')).at(-1)).toMatchObject({
      state: 'settling',
      headlines: cameOf('11-10', '11-11T06:15'),
    });
    expect((await daily('1 hour'))[0]).toMatchObject({ state: 'covered' });
  });

  it('answers the same over HTTP', async () => {
    await using page = await aPage(desk.db);
    const asked = 'country=US&topic=Inflation-Food&from=2025-11-05&to=2025-11-10&by=day';
    const daysAt = async (moment: string) => {
      const response = await fetch(`${page.url}/api/sentiment?${asked}&as_of=${moment}`);
      const { columns, rows } = (await response.json()) as { columns: string[]; rows: unknown[][] };
      const [state, headlines] = ['state', 'all_count'].map((name) => columns.indexOf(name));
      return rows.map((row) => [row[state!], row[headlines!]]);
    };
    expect((await daysAt('2025-11-08T21:00:00Z')).slice(1)).toEqual(Array(5).fill(['not loaded', null]));
    expect((await daysAt('2025-11-08T21:00:00Z'))[0]).toEqual(['settling', expect.any(Number)]);
    expect((await daysAt('2025-11-11T12:00:00Z')).at(-1)).toEqual([
      'settling',
      cameOf('11-10', '11-11T06:15'),
    ]);
  });

  it('refuses a moment of the future over HTTP', async () => {
    await using page = await aPage(desk.db);
    const asked = 'country=US&topic=Inflation-Food&from=2025-11-05&to=2025-11-10&by=day';
    const response = await fetch(`${page.url}/api/sentiment?${asked}&as_of=2100-01-01T00:00:00Z`);
    expect(response.status).toBe(400);
  });

  it('answers nothing of the future', async () => {
    await expect(answersOf(desk.db, [Date.now() + 2 * hour])).rejects.toThrow('is in the future');
  });

  it.each<[what: string, instant: string, load: (instant: string) => Promise<unknown>]>([
    [
      'a job of another lookback joins, with a backfill',
      '2025-11-12T06:00',
      (instant) => desk.load(instant, aDeskJob({ lookback: 'P7D' }), runBackfill),
    ],
    [
      'a job of another lookback joins, with a sync',
      '2025-11-12T07:00',
      (instant) => desk.load(instant, aDeskJob({ lookback: 'P0D' })),
    ],
    [
      'a file adds a headline of a watched day',
      '2025-11-13T06:00',
      async (instant) => {
        const headline = aHeadline(utc('2025-11-07T17:17'), { score: 0.25 });
        await using folder = await aFolder();
        const path = await folder.write('late.ndjson', JSON.stringify(asRecord(headline)));
        const { clock } = desk;
        const setting = {
          stated: statedOfMany,
          days: { from: '2025-11-07', to: '2025-11-07' },
          clock,
          databaseClock: async () => clock(),
        };
        await desk.as(instant, () => runImport(desk.db, [path], setting));
        desk.gotByFile(headline, utc(instant));
      },
    ],
    [
      'history is loaded that ends after the watch began',
      '2025-11-14T06:00',
      (instant) =>
        desk.load(instant, aDeskJob({ end_date: '2025-10-20' }, { from: '2025-09-01' }), runBackfill),
    ],
    [
      'everything is loaded again',
      '2025-11-15T06:00',
      (instant) => desk.load(instant, job, runBackfill, { plan: refresh }),
    ],
    ['a pause ends with a backfill', '2025-11-27T06:00', (instant) => desk.load(instant, job, runBackfill)],
  ])('answers the same after %s', async (_what, instant, load) => {
    const before = await answersOf(desk.db, sixHourly, { over: '1 day' });
    const rows = async () =>
      (await sqlIn(desk.db)<{ many: number }>`select count(*)::int as many from gmsi.headlines`)[0]!.many;
    const had = await rows();
    await load(instant);
    const after = await asLedgered(sixHourly);
    // What is assumed of before the watch may grow.
    const watched = (answers: typeof before) =>
      answers
        .filter(({ moment }) => moment.getTime() > utc('2025-10-15'))
        .map(({ moment, count, sum }) => [moment, count, sum]);
    expect(watched(after)).toEqual(watched(before));
    expect((await answersOf(desk.db, outage)).map(({ state, count }) => [state, count])).toEqual(
      outage.map(() => ['late', 0]),
    );
    await asLedgered(sixHourly.slice(-120), 60);
    await asLedgered([utc(instant) - 1, utc(instant) + 1000]);
    expect(await rows()).toBeGreaterThanOrEqual(had);
  });

  it('answers of days of history, as known after the watch began, without what came later', async () => {
    const rows = await sqlIn(desk.db)`
      select day::text, state, all_count as headlines
      from gmsi.sentiment_daily_as_known('2025-09-20', '2025-10-02', 'US', 'Inflation-Food', delay => '20 days') order by day`;
    expect(rows).toEqual(
      [...Array(13).keys()].map((n) => ({
        day: new Date(utc('2025-09-20') + n * day).toISOString().slice(0, 10),
        ...(n < 4
          ? { state: 'assumed', headlines: 8 }
          : n < 11
            ? { state: 'late', headlines: 0 }
            : { state: 'covered', headlines: 7 }),
      })),
    );
  });

  it('has grown by all of that', async () => {
    const rows = await sqlIn(desk.db)`
      select is_backfilled, count(*)::int as many from gmsi.headlines where first_seen_at > '2025-11-12' group by 1 order by 1`;
    expect(rows).toEqual([
      { is_backfilled: false, many: expect.any(Number) },
      { is_backfilled: true, many: expect.any(Number) },
    ]);
    const history = await answersOf(desk.db, [evening('09-10')]);
    expect(history).toMatchObject([{ state: 'assumed', count: 8 }]);
  });
});

it('a series that is polled rarely answers of the days between that they are late', async () => {
  await using desk = await aWatchingDesk('2025-11-01T04:00');
  const quiet = aDeskJob({ cadence: { adaptive: true, longest: 'P8D' } });
  await desk.load('2025-11-01T04:00', quiet, runBackfill);
  await desk.load('2025-12-14T04:00', quiet);
  desk.publish('2025-12-15', '2025-12-18');
  for (const date of ['12-15', '12-18', '12-21'])
    expect(await desk.load(`2025-${date}T04:00`, quiet)).toMatchObject({ seriesSkipped: 1 });
  expect(await desk.load('2025-12-22T05:00', quiet)).toMatchObject({
    seriesSkipped: 0,
    totals: { rows_inserted: 32 },
  });
  const moments = ['12-16', '12-17', '12-18'].map(evening);
  for (const isStrict of [false, true])
    expect(
      (await answersOf(desk.db, moments, { isStrict })).map(({ state, count }) => [state, count]),
    ).toEqual(moments.map(() => ['late', 0]));
  expect(await answersOf(desk.db, ['2025-12-22T12:00'])).toMatchObject([{ count: 32 }]);
});
