import { z } from 'zod';
import { faultKinds, scriptedFault } from './faults/fault-schema.ts';
import { COUNTRY_BY_CODE } from './world/countries.ts';
import { TICKER_BY_CODE } from './world/tickers.ts';
import { TOPIC_BY_NAME } from './world/topics.ts';
import { zoneOf } from './zone.ts';

const share = () => z.number().min(0).max(1);
const days = () => z.int().min(0).nullable();
const texts = () => z.array(z.string()).readonly();
const namesIn = (known: ReadonlyMap<string, unknown>, error: string) =>
  z.array(z.string().refine((name) => known.has(name), { error })).readonly();

/** All settings of a sandbox, which ../README.md lists. Those without a description cannot be written as JSON. */
export const optionSchema = z.strictObject({
  host: z
    .string()
    .default('127.0.0.1')
    .describe('the address to listen on; any but 127.0.0.1 admits other machines'),
  port: z.int().min(0).max(65_535).default(0).describe('the port to listen on; 0 takes a free one'),
  seed: z
    .string()
    .default('sandbox')
    // It also decides the secret that signs cursors.
    .describe('decides all data; a restarted sandbox with the same seed accepts its earlier cursors'),
  keys: texts().default(['sandbox-key']).describe('the API keys that are accepted'),
  /** The service's time, also sent in `Date`. A clock that stands still never refills the rate: use it with `limits: null`. */
  clock: z
    .custom<() => Date>((value) => typeof value === 'function', 'a function')
    .optional()
    .transform((clock) => clock ?? (() => new Date())),
  limits: z
    .strictObject({
      perSecond: z.number().positive().default(25).describe('requests a second, sustained'),
      burst: z.int().min(1).default(50).describe('requests at once after a pause'),
      perMonth: z.int().min(0).default(250_000).describe('requests in a calendar month (UTC)'),
    })
    .nullable()
    .prefault({})
    .describe('how a key is limited; null for no limits'),
  endDate: z
    .enum(['inclusive', 'exclusive', 'ignored'])
    .default('inclusive')
    .describe('whether end_date is part of the range; ignored: ranges last until now, however long they are'),
  historyLimitDays: days()
    .default(null)
    .describe('how many days before today start_date may be; earlier ones are refused; null for no limit'),
  tickerHistoryLimitDays: days()
    .default(90)
    .describe('the same for the historical headlines of tickers and the regional index'),
  order: z.enum(['newest-first', 'oldest-first']).default('newest-first').describe('the order of records'),
  timeZone: z
    .string()
    .refine(isZone, 'expected an IANA time zone such as Europe/London')
    .default('UTC')
    .describe('the zone of the days in start_date and end_date, and of times without a zone'),
  liveEnvelope: z
    .boolean()
    .default(false)
    .describe('whether live feeds answer with an envelope, as pages have it, instead of a list'),
  historicalDelayMinutes: z
    .number()
    .min(0)
    .default(0)
    .describe('minutes by which the historical feeds lag behind the clock'),
  volume: z
    .number()
    .min(0)
    .default(1)
    .describe(
      'multiplies the number of headlines; 1 means some 5 to 20 a day for an average country and topic',
    ),
  tokenLifetimeMs: z
    .number()
    .min(0)
    .nullable()
    .default(null)
    .describe('milliseconds for which a cursor is accepted; null for no limit'),
  tokenErrorStatus: z
    .int()
    .min(400)
    .max(599)
    .default(400)
    .describe('the status for a cursor that is broken, expired or from another query'),
  /** How records look on the wire. What the service sends is mostly not known (docs/service.md, "Headline records"). */
  records: z
    .strictObject({
      ids: z.boolean().default(true).describe("whether a record has the service's own id, a UUID"),
      texts: z.boolean().default(true).describe('whether a record has headline, language, source and url'),
      scores: z
        .enum(['flat', 'nested'])
        .default('flat')
        .describe('directional_positive, or directional: { positive }'),
      numbers: z.enum(['number', 'string']).default('number').describe('0.91, or "0.91"'),
      times: z
        .enum(['naive', 'utc', 'offset'])
        .default('naive')
        .describe(
          'T13:00:00 in timeZone, T13:00:00+00:00, or T18:30:00+05:30; feeds of tickers and events always send +00:00',
        ),
      hourShare: share()
        .default(0.6)
        .describe('the share of headlines whose time is rounded down to the hour'),
      missingScores: share()
        .default(0.01)
        .describe(
          'the share of records without semantic scores, or without sentiment_score; half of these send null',
        ),
    })
    .prefault({})
    .describe('how records look'),
  changes: z
    .strictObject({
      late: share().default(0).describe('first served an hour to four days after their publication time'),
      revised: share()
        .default(0)
        .describe(
          'given other scores, and some another text, two hours to ten days after they were first served',
        ),
      withdrawn: share().default(0).describe('withdrawn an hour to twenty days after they were first served'),
    })
    .prefault({})
    .describe("shares of headlines that change after their publication, by the sandbox's clock"),
  faults: z
    .strictObject({
      random: z
        .partialRecord(z.enum(faultKinds), share())
        .refine(isAtMostOne, 'expected shares that are at most 1 together')
        .default({})
        .describe('the share of requests that get a fault, by kind, such as { "reset": 0.1 }'),
      seed: z.string().default('faults').describe('decides which, together with the order of requests'),
      script: z
        .array(scriptedFault)
        .readonly()
        .default([])
        .describe(
          'faults of the first requests, such as [{ "kind": "reset", "times": 2 }]; times: how many get it, by default 1',
        ),
    })
    .prefault({})
    .describe('what goes wrong'),
  cacheBytes: z
    .int()
    .min(0)
    .default(64 * 2 ** 20)
    .describe('bytes of recent pages that are cached'),
  archive: z
    .strictObject({
      tickers: namesIn(TICKER_BY_CODE, 'expected the code of a ticker such as BZ_COM')
        .default(['BTC_CRY', 'BZ_COM'])
        .describe('the tickers in the archives'),
      countries: namesIn(COUNTRY_BY_CODE, 'expected the code of a country such as US')
        .default(['US', 'GB'])
        .describe('the countries'),
      topics: namesIn(TOPIC_BY_NAME, 'expected the name of a topic such as Inflation-Food')
        .default(['Inflation-Food', 'Market Stress'])
        .describe('the topics'),
      from: z.iso.date().optional().describe('the first day; by default January 1 of last year'),
      to: z.iso.date().optional().describe('the last day; by default yesterday'),
    })
    .prefault({})
    .describe('what --archive writes'),
});

function isZone(name: string): boolean {
  try {
    zoneOf(name);
    return true;
  } catch {
    return false;
  }
}

function isAtMostOne(shares: Readonly<Record<string, number | undefined>>): boolean {
  return Object.values(shares).reduce<number>((sum, share = 0) => sum + share, 0) <= 1 + 1e-9;
}
