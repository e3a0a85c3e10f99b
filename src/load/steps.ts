import { channel, type TracingChannel, tracingChannel } from 'node:diagnostics_channel';
import type { Series } from '../feeds/feed.ts';
import type { PageCounts } from '../warehouse/tables/checkpoint.ts';
import type { LoadEnd } from './ends.ts';

/** The stages of a page. Fetching includes waiting for the rate limit and between tries. */
export const stages = ['fetch', 'read', 'commit'] as const;
export type Stage = (typeof stages)[number];

/** A window, or a live answer, and within it the stages of its pages. */
export type StepName = 'window' | 'live' | Stage;

/** What is published of a load. */
export interface PublishedLoad {
  readonly loadId: number;
  readonly command: string;
  readonly job: { readonly name: string };
  readonly feed: { readonly name: string };
  /** Counted up as pages are committed. */
  readonly totals: { readonly records: number };
}

/** What is published of a step. */
export interface Step {
  readonly load: PublishedLoad;
  /** What it is about, such as its window or page. */
  readonly about: Readonly<Record<string, string | number>>;
}

/** What a load does is published here as it happens. It knows nothing of who listens: `observe/` makes spans and metrics. */
export const published = {
  /** `PublishedLoad` */
  opened: channel('gmsi:load opened'),
  /** `LoadClosed` */
  closed: channel('gmsi:load closed'),
  /** `CommittedPage` */
  committed: channel('gmsi:page committed'),
  steps: {
    window: tracingChannel<unknown, Step>('gmsi:window'),
    live: tracingChannel<unknown, Step>('gmsi:live'),
    fetch: tracingChannel<unknown, Step>('gmsi:fetch'),
    read: tracingChannel<unknown, Step>('gmsi:read'),
    commit: tracingChannel<unknown, Step>('gmsi:commit'),
  } satisfies Record<StepName, TracingChannel<unknown, Step>>,
};

export interface LoadClosed {
  readonly load: PublishedLoad;
  readonly end: LoadEnd;
}

/** A page, or a live answer, that is committed. */
export interface CommittedPage {
  readonly feed: string;
  readonly counts: PageCounts;
}

/** Does one step of a load, and publishes its beginning, its end and its error. */
export function step<T>(
  name: StepName,
  load: PublishedLoad,
  about: Step['about'],
  work: () => T | Promise<T>,
): Promise<T> {
  return published.steps[name].tracePromise(async () => work(), { load, about });
}

/** A series without the dimensions that its feed does not have. */
export function presentParts({ country, topic, ticker, match_type, variant }: Series): Step['about'] {
  const all = Object.entries({ country, topic, ticker, match_type, variant });
  return Object.fromEntries(all.filter(([, value]) => value !== ''));
}
