import { channel, type TracingChannel, tracingChannel } from 'node:diagnostics_channel';
import type { Series } from '../feeds/feed.ts';
import type { PageCounts } from '../warehouse/commit.ts';
import type { LoadEnd } from './ends.ts';

/** The stages of a page. `fetch` includes waiting for the rate limit and between tries. */
export const stages = ['fetch', 'read', 'commit'] as const;
export type Stage = (typeof stages)[number];

/** A window or a live answer, and the stages of its pages. */
export type StepName = 'window' | 'live' | Stage;

/** The parts of a load that listeners get. */
export interface PublishedLoad {
  readonly loadId: number;
  readonly command: string;
  readonly job: { readonly name: string };
  readonly feed: { readonly name: string };
  /** Counted up as pages are committed. */
  readonly totals: { readonly records: number };
}

export interface Step {
  readonly load: PublishedLoad;
  /** Its subject, such as a window or page. */
  readonly about: Readonly<Record<string, string | number>>;
}

/** A load publishes its steps here as they happen. `observe/` listens and makes spans and metrics. */
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

/** A committed page or live answer. */
export interface CommittedPage {
  readonly feed: string;
  readonly counts: PageCounts;
}

/** Runs one step of a load, and publishes its beginning, its end and its error. */
export function step<T>(
  name: StepName,
  load: PublishedLoad,
  about: Step['about'],
  work: () => T | Promise<T>,
): Promise<T> {
  return published.steps[name].tracePromise(async () => work(), { load, about });
}

/** Returns the dimensions that the series has. */
export function presentParts({ country, topic, ticker, match_type, variant }: Series): Step['about'] {
  const all = Object.entries({ country, topic, ticker, match_type, variant });
  return Object.fromEntries(all.filter(([, value]) => value !== ''));
}
