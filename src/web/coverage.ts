import { Temporal } from 'temporal-polyfill';
import { z } from 'zod';
import { wantedByJobs } from '../plan/wanted-days.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import {
  coverageOfSeries,
  coveredDays,
  failuresByCause,
  windowsOfSeries,
} from '../warehouse/questions/coverage.ts';
import { endpoint, exactTime, pastMoment, period, several, text } from './endpoint.ts';

const feed = text(100).describe('A feed, such as gmsi-headlines.');
const matchType = text(100).describe('COMBINED, DOMESTIC or INTERNATIONAL.');
/** The parts of a series; parts that the feed lacks are empty. */
const series = {
  country: text(200).default(''),
  topic: text(200).default(''),
  ticker: text(200).default(''),
  variant: text(500).default(''),
};
const seriesColumns = { country: z.string(), topic: z.string(), ticker: z.string(), variant: z.string() };
const days = z.int();

export const coverageEndpoints = [
  endpoint('coverage', 'How many days of each series are covered, and the state of the others', {
    takes: z.object({ feed, match_type: matchType, ...period }),
    row: z.object({
      ...seriesColumns,
      covered: days,
      running: days,
      failed: days,
      refused: days,
      pending: days,
      settling: days,
      timeline: z
        .string()
        .describe('The days in order, as lengths of equal states: covered 300, failed 20, never 45.'),
    }),
    ask: ({ match_type, ...asked }) => coverageOfSeries({ matchType: match_type, ...asked }),
  }),
  endpoint('coverage/days', 'The covered days of series, as ranges', {
    takes: z.object({
      feed,
      ...period,
      country: several('A country', 100).default(['']),
      topic: several('A topic', 100).default(['']),
      ticker: several('A ticker', 100).default(['']),
      variant: several('Further parameters of the series, as name=value&name=value', 100).default(['']),
      match_type: several('A match type', 3),
      as_of: pastMoment.optional().describe('Only days of windows that had been drained then.'),
    }),
    row: z.object({ ...seriesColumns, match_type: z.string(), first_day: z.string(), last_day: z.string() }),
    ask: ({ country, topic, ticker, variant, match_type, ...asked }) =>
      coveredDays(
        {
          feed: asked.feed,
          countries: country,
          topics: topic,
          tickers: ticker,
          variants: variant,
          matchTypes: match_type,
        },
        asked,
        asked.as_of,
      ),
  }),
  endpoint('windows', 'The windows of a series that have days of a period, the latest first (500 at most)', {
    takes: z.object({ feed, match_type: matchType, ...series, ...period }),
    row: z.object({
      window_id: z.int(),
      first_day: z.string(),
      last_day: z.string(),
      state: z.string(),
      pages: z.int(),
      records: z.int(),
      attempts: z.int(),
      is_half_drained: z.boolean(),
      finished_at: exactTime.nullable(),
      last_error: z.string().nullable(),
      job: z.string().nullable(),
    }),
    ask: ({ from, to, ...asked }) => windowsOfSeries(asked, { from, to }, 500),
  }),
];

/** @param cwd the folder whose jobs say which windows are wanted */
export function failuresEndpoint(
  warehouse: Warehouse,
  {
    cwd,
    leaseSeconds,
    clock,
  }: { readonly cwd: string; readonly leaseSeconds: number; readonly clock: () => Date },
) {
  return endpoint('failures', 'Windows that failed or were refused, by cause (50 causes at most)', {
    takes: z.object({}),
    row: z.object({
      feed: z.string(),
      state: z.enum(['failed', 'refused']),
      job: z.string().nullable().describe('A job that wants them, else the one that last requested them.'),
      cause: z.string().nullable(),
      windows: z.int(),
      series: z.int(),
      example: z.string().describe('One of the series.'),
      first_day: z.string(),
      last_day: z.string(),
      is_wanted: z
        .boolean()
        .describe('False if no job wants any of their days, so that no load tries them again.'),
    }),
    isLive: true,
    async ask() {
      const today = Temporal.PlainDate.from(clock().toISOString().slice(0, 10));
      const known = await wantedByJobs(warehouse, { cwd, today, leaseSeconds }).catch((error) => {
        if (error.code === '42501') return { unknown: 'a reader may not see what workers have stored' };
        throw error;
      });
      return failuresByCause('wanted' in known ? known : {});
    },
  });
}
