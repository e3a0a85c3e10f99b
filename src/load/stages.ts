import { channel, type TracingChannel, tracingChannel } from 'node:diagnostics_channel';
import type { Series } from '../feeds/feed.ts';
import type { PageCounts } from '../warehouse/commit.ts';
import type { LoadEnd } from './ends.ts';

/** The stages of a page. `fetch` includes waiting for the rate limit and between tries. */
export const pageStages = ['fetch', 'read', 'commit'] as const;

/** A window or a live answer, and the stages of its pages. */
export type Stage = 'window' | 'live' | (typeof pageStages)[number];

/** The parts of a load that listeners get. */
export interface PublishedLoad {
  readonly loadId: number;
  readonly command: string;
  readonly job: { readonly name: string };
  readonly feed: { readonly name: string };
  /** Counted up as pages are committed. */
  readonly totals: { readonly records: number };
}

export interface StageContext {
  readonly load: PublishedLoad;
  /** Its subject, such as a window or page. */
  readonly about: Readonly<Record<string, string | number>>;
}

/**
 * A load publishes its stages here as they happen. `observe/` listens and makes metrics; so can a preloaded SDK
 * (docs/observability).
 */
export const published = {
  /** `PublishedLoad` */
  opened: channel('gmsi:load opened'),
  /** `LoadClosed` */
  closed: channel('gmsi:load closed'),
  /** `CommittedPage` */
  committed: channel('gmsi:page committed'),
  stages: {
    window: tracingChannel<unknown, StageContext>('gmsi:window'),
    live: tracingChannel<unknown, StageContext>('gmsi:live'),
    fetch: tracingChannel<unknown, StageContext>('gmsi:fetch'),
    read: tracingChannel<unknown, StageContext>('gmsi:read'),
    commit: tracingChannel<unknown, StageContext>('gmsi:commit'),
  } satisfies Record<Stage, TracingChannel<unknown, StageContext>>,
};

export interface LoadClosed {
  readonly load: PublishedLoad;
  readonly end: LoadEnd;
}

/** A committed page or live answer. */
export interface CommittedPage {
  readonly feed: string;
  readonly counts: PageCounts;
}

/** Runs one stage of a load, and publishes its beginning, its end and its error. */
export function inStage<T>(
  name: Stage,
  load: PublishedLoad,
  about: StageContext['about'],
  work: () => T | Promise<T>,
): Promise<T> {
  return published.stages[name].tracePromise(async () => work(), { load, about });
}

/** Returns the dimensions that the series has. */
export function presentParts({ country, topic, ticker, match_type, variant }: Series): StageContext['about'] {
  const all = Object.entries({ country, topic, ticker, match_type, variant });
  return Object.fromEntries(all.filter(([, value]) => value !== ''));
}
