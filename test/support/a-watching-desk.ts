import type { Job } from '../../src/config/job.ts';
import type { Warehouse } from '../../src/warehouse/connect.ts';
import { aMovingService } from './moving-service.ts';
import type { AroundPage } from './pages.ts';
import { type BackfillSetting, type runBackfill, runSync } from './run-backfill.ts';
import { loadAs } from './stamp-as.ts';
import { sqlIn } from './warehouse-state.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
export const utc = (text: string) => Date.parse(text.length > 10 ? `${text}Z` : `${text}T00:00Z`);
const dayOf = (time: number) => new Date(time).toISOString().slice(0, 10);

/** A headline of Inflation-Food, as the service has it. */
export interface Headline {
  readonly id: string;
  readonly country: string;
  readonly publishedAt: number;
  /** The service has it from then on. */
  since: number;
  /** And until then. */
  gone: number;
  score: number;
}

/** A headline that the desk has got, as its answers showed it. */
interface Got {
  readonly at: number;
  /** True if it came with its day, of before the watch: it is assumed to have been known from publication. */
  readonly isAssumed: boolean;
  readonly headline: Headline;
}

/** The answer of `gmsi.signals` for a moment. */
export interface Answer {
  readonly moment: Date;
  readonly state: string;
  readonly count: number;
  readonly sum: number;
}

/**
 * A desk that loads headlines which a test writes itself, at simulated past times, from a service that sends exactly these. It
 * keeps a ledger of its own of what the answers showed and when.
 */
export async function aWatchingDesk(begin: string) {
  const service = await aMovingService(`${begin}Z`, { volume: 0 });
  const { db, sandbox, clock } = service;
  const headlines: Headline[] = [];
  const got = new Map<string, Got>();
  const asked = new Set<string>();
  let watchedSince = Number.POSITIVE_INFINITY;

  const sent = (country: string, isSent: (headline: Headline) => boolean) => {
    const now = clock().getTime();
    return headlines.filter(
      (one) => one.country === country && one.since <= now && now < one.gone && isSent(one),
    );
  };
  const pages: AroundPage = async (ask, { path, query: { start_date: from, end_date: to } }) => {
    await ask();
    const now = clock().getTime();
    const records = sent(path.split('/').at(-1)!, ({ publishedAt }) =>
      from === undefined
        ? publishedAt > now - 6 * hourMs
        : dayOf(publishedAt) >= from && dayOf(publishedAt) <= (to ?? '9999'),
    );
    return { records: records.map(asRecord), nextToken: null };
  };

  return {
    ...service,
    headlines,
    pages,
    /** Headlines that the service publishes every three hours of some days, at half past; it may have them later. */
    publish(from: string, to: string, late: (n: number) => number = () => 0, country = 'US') {
      for (let at = utc(from) + hourMs / 2, n = 0; at < utc(to) + dayMs; at += 3 * hourMs, n++)
        headlines.push(aHeadline(at, { country, since: at + late(n), score: ((n * 7) % 19) / 20 - 0.4 }));
    },
    /** So many headlines of a country, evenly over a time. */
    publishEvenly(from: number, to: number, many: number, country: string) {
      for (let n = 0; n < many; n++)
        headlines.push(
          aHeadline(from + Math.floor(((n + 0.5) * (to - from)) / many / 1000) * 1000, { country }),
        );
    },
    /** Runs a load at a simulated time. */
    async load(
      instant: string,
      job: Job,
      run: typeof runBackfill | typeof runSync = runSync,
      setting: Partial<BackfillSetting> = {},
    ) {
      service.moveTo(`${instant}Z`);
      const at = utc(instant);
      const days = new Set<string>();
      const aroundPage: AroundPage = async (ask, request) => {
        const page = await (setting.aroundPage ?? pages)(ask, request);
        const { start_date: from, end_date: to } = request.query;
        if (from !== undefined) for (let day = utc(from); day <= utc(to!); day += dayMs) days.add(dayOf(day));
        for (const { id, publication_time } of page.records as { id: string; publication_time: string }[]) {
          const isAssumed =
            publication_time.slice(0, 10) < dayOf(Math.min(watchedSince, at)) &&
            !asked.has(publication_time.slice(0, 10));
          if (!got.has(id)) got.set(id, { at, isAssumed, headline: headlines.find((one) => one.id === id)! });
        }
        return page;
      };
      const result = await loadAs(db, `${instant}Z`, () =>
        run({ job, db, sandbox, clock, servedBy: 'service', ...setting, aroundPage }),
      );
      for (const day of days) asked.add(day);
      if (days.has(dayOf(at))) watchedSince = Math.min(watchedSince, at);
      return result;
    },
    /** Runs something else at a simulated time, such as an import. */
    as(instant: string, run: () => Promise<unknown>) {
      service.moveTo(`${instant}Z`);
      return loadAs(db, `${instant}Z`, run);
    },
    /** Takes down that a headline has come by a file. */
    gotByFile(headline: Headline, at: number) {
      got.set(headline.id, { at, isAssumed: false, headline });
    },
    /** What was known in the time before a moment, by the desk's own ledger; of headlines that never change. */
    expected(moment: number, over: number, isStrict = false) {
      const isWatched = moment >= watchedSince;
      const counted = [...got.values()].filter(({ at, isAssumed, headline: { publishedAt } }) => {
        if (isAssumed && (isWatched ? at > moment : isStrict)) return false;
        const entered = isAssumed ? publishedAt : Math.max(at, publishedAt);
        return entered > moment - over && entered <= moment;
      });
      return { count: counted.length, sum: counted.reduce((sum, { headline }) => sum + headline.score, 0) };
    },
    [Symbol.asyncDispose]: () => service[Symbol.asyncDispose](),
  };
}

export function aHeadline(at: number, values: Partial<Headline> = {}): Headline {
  const { country = 'US' } = values;
  const digits = `${at}${[...country].map((letter) => letter.charCodeAt(0)).join('')}`.padStart(20, '0');
  const id = `${digits.slice(0, 8)}-0000-4000-8000-${digits.slice(8)}`;
  return { id, country, publishedAt: at, since: at, gone: Number.POSITIVE_INFINITY, score: 0.5, ...values };
}

/** A headline as the service sends it. */
export function asRecord({ id, publishedAt, score }: Headline) {
  return {
    id,
    publication_time: new Date(publishedAt).toISOString().slice(0, 19),
    headline: `Headline ${id}`,
    directional_positive: Math.max(0, score),
    directional_neutral: 1 - Math.abs(score),
    directional_negative: Math.max(0, -score),
  };
}

/** What `gmsi.signals` answers of moments. */
export async function answersOf(
  db: Warehouse,
  moments: readonly (string | number)[],
  { over = '1 day', isStrict = false, country = 'US' } = {},
): Promise<Answer[]> {
  const at = moments.map((moment) =>
    new Date(typeof moment === 'string' ? utc(moment) : moment).toISOString(),
  );
  return sqlIn(db)<Answer>`
    select moment, state, headline_count as count, sentiment_sum as sum
    from gmsi.signals(${at}::timestamptz[], ${country}, 'Inflation-Food', over => ${over}::interval, assume_backfilled => ${!isStrict})`;
}
