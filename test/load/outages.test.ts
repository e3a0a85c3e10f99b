import { expect, it } from 'vitest';
import type { Job } from '../../src/config/job.ts';
import { aWatchingDesk, utc } from '../support/a-watching-desk.ts';
import type { AroundPage } from '../support/pages.ts';
import { aJobFor, refresh, runBackfill } from '../support/run-backfill.ts';
import { sqlIn } from '../support/warehouse-state.ts';

/** Outages that look like no news: one brake for all jobs, loads and windows of a feed. */

const ten = ['AU', 'BR', 'CA', 'CN', 'DE', 'FR', 'GB', 'JP', 'NO', 'US'];
const period = { topics: ['Inflation-Food'], from: '2025-11-01', to: '2025-11-10' };
const jobOf = (countries: readonly string[], overrides: object = {}, days: object = {}) =>
  aJobFor(
    { ...period, ...days, countries },
    { lookback: 'P0D', ...overrides, service: { end_date: 'inclusive' } },
    '2025-11-20',
  );

/** A desk that has so many headlines of each country, evenly over ten days. */
async function aLoadedDesk(perCountry: Readonly<Record<string, number>>) {
  const desk = await aWatchingDesk('2025-11-20T10:00');
  const { db, sandbox, clock } = desk;
  const run = { db, sandbox, clock, servedBy: 'service', aroundPage: desk.pages } as const;
  for (const [country, many] of Object.entries(perCountry))
    desk.publishEvenly(utc('2025-11-01'), utc('2025-11-11'), many, country);
  await runBackfill({ ...run, job: jobOf(Object.keys(perCountry)) });
  return {
    ...desk,
    /** Loads all days of jobs again, one after the other. */
    async again(
      jobs: readonly Job[],
      isServed: (country: string, index: number) => boolean,
      acceptRetractions = false,
    ) {
      const aroundPage: AroundPage = async (ask, request) => {
        const page = await desk.pages(ask, request);
        return {
          ...page,
          records: page.records.filter((_, index) => isServed(request.path.split('/').at(-1)!, index)),
        };
      };
      const ends = { retracted: 0, incomplete: 0 };
      for (const job of jobs) {
        const { totals, outcome } = await runBackfill({
          ...run,
          job,
          plan: refresh,
          aroundPage,
          acceptRetractions,
        });
        ends.retracted += totals.rows_retracted;
        if (outcome === 'incomplete') ends.incomplete++;
      }
      return ends;
    },
    [Symbol.asyncDispose]: () => desk[Symbol.asyncDispose](),
  };
}
const ofEach = (countries: readonly string[], many: number) =>
  Object.fromEntries(countries.map((country) => [country, many]));
const nothing = () => false;

it('loses few rows of ten jobs of a country each, and none later, until somebody accepts it', async () => {
  await using desk = await aLoadedDesk(ofEach(ten, 6));
  const jobs = ten.map((country) => jobOf([country]));
  expect(await desk.again(jobs, nothing)).toEqual({ retracted: 6, incomplete: 9 });
  expect(await desk.again(jobs, nothing)).toEqual({ retracted: 0, incomplete: 9 });
  expect(await desk.again(jobs.slice(1), nothing, true)).toEqual({ retracted: 54, incomplete: 0 });
  const accepted = await sqlIn(desk.db)`
    select is_accepted, sum(rows_gone)::int as gone from gmsi.readings where rows_gone > 0 group by 1 order by 1`;
  expect(accepted).toEqual([
    { is_accepted: false, gone: 6 },
    { is_accepted: true, gone: 54 },
  ]);
  // What was accepted is no loss: headlines may be withdrawn as before.
  expect(await desk.again(jobs, () => true)).toEqual({ retracted: 0, incomplete: 0 });
  expect(await desk.again(jobs, (country, index) => country !== 'US' || index > 1)).toEqual({
    retracted: 2,
    incomplete: 0,
  });
});

it('loses few rows of four jobs of one series in windows of a day', async () => {
  await using desk = await aLoadedDesk({ US: 40 });
  const jobs = [1, 2, 3, 4].map((n) => jobOf(['US'], { step: `P${n % 2 === 0 ? 1 : 2}D` }));
  const first = await desk.again(jobs, nothing);
  expect(first.incomplete).toBe(4);
  expect(first.retracted).toBeGreaterThan(0);
  expect(first.retracted).toBeLessThanOrEqual(11);
  expect(await desk.again(jobs, nothing)).toEqual({ retracted: 0, incomplete: 4 });
});

it('loses nothing if 30 % are missing everywhere', async () => {
  await using desk = await aLoadedDesk(ofEach(ten.slice(0, 4), 100));
  const jobs = ten.slice(0, 4).map((country) => jobOf([country]));
  expect(await desk.again(jobs, (_, index) => index % 10 > 2)).toEqual({ retracted: 0, incomplete: 4 });
});

it('loses few rows of quiet series though a busy one answers', async () => {
  await using desk = await aLoadedDesk({ ...ofEach(ten.slice(0, 9), 3), US: 200 });
  const jobs = [jobOf(['US']), jobOf(ten.slice(0, 5)), jobOf(['US']), jobOf([...ten.slice(5, 9), 'US'])];
  const lost: number[] = [];
  for (let times = 0; times < 3; times++) {
    const { retracted, incomplete } = await desk.again(jobs, (country) => country === 'US');
    lost.push(retracted);
    expect(incomplete).toBe(2);
  }
  // An answer of the busy series makes up for a fifth of a row, however many rows it has.
  expect(lost[0]).toBe(9);
  expect(lost[1]! + lost[2]!).toBeLessThanOrEqual(3);
  expect(await desk.again(jobs, () => true)).toMatchObject({ incomplete: 0 });
});
