import type { Span } from '@opentelemetry/api';
import type { Client } from '../api/client.ts';
import type { Feed, RecordReader } from '../feeds/feed.ts';
import type { Job } from '../job/job.ts';
import type { Log } from '../log.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import type { PageCounts } from '../warehouse/queries/checkpoint.ts';
import type { LoadTotals } from '../warehouse/queries/loads.ts';
import type { KnownPartitions } from '../warehouse/queries/partitions.ts';
import type { WindowScope } from '../warehouse/queries/window-scope.ts';
import type { Day } from '../warehouse/tables/database.ts';
import type { Clocks } from './clocks.ts';
import type { Lease } from './lease.ts';
import type { Origin } from './origin.ts';

/** The stages of a page's way; fetching includes waiting for the rate limit and between tries. */
export const stages = ['fetch', 'map', 'commit'] as const;
export type Stage = (typeof stages)[number];

/** What happens in a load, as it happens; for metrics. */
export type LoadEvent =
  /** A stage of a page's way is over, well or not. */
  | { readonly type: 'stage'; readonly feed: string; readonly stage: Stage; readonly seconds: number }
  /** A page, or a live answer, is committed. */
  | { readonly type: 'page'; readonly feed: string; readonly counts: PageCounts };

/** One run of one job: what all of its windows have in common. */
export interface Load {
  readonly loadId: number;
  readonly command: 'backfill' | 'sync';
  readonly job: Job;
  readonly feed: Feed;
  readonly scope: WindowScope;
  /** First day (UTC) that is loaded as it happens; the first sight of rows before it says nothing. `null`: all of a backfill. */
  readonly unsettledFrom: Day | null;
  readonly client: Client;
  readonly warehouse: Warehouse;
  readonly reader: RecordReader;
  readonly lease: Lease;
  readonly origin: Origin;
  readonly partitions: KnownPartitions;
  readonly log: Log;
  /** What time it is by the earliest of its clocks. */
  readonly clock: () => Date;
  readonly clocks: Clocks;
  /** Counted up as pages are committed. */
  readonly totals: LoadTotals;
  readonly onEvent: (event: LoadEvent) => void;
  /** Within which the spans of its windows are. */
  readonly span: Span;
  /** Set when no further page may be asked for; the pages in hand are committed first. */
  readonly stop: AbortSignal;
  /** Set when requests under way must end, too. */
  readonly abort: AbortSignal;
}

/** Adds a committed page, or live answer, to a load's totals. */
export function countPage({ totals, feed, onEvent }: Load, counts: PageCounts): void {
  totals.pages++;
  totals.records += counts.records;
  totals.rows_inserted += counts.inserted;
  totals.rows_changed += counts.changed;
  totals.rows_retracted += counts.retracted;
  totals.records_rejected += counts.rejected;
  onEvent({ type: 'page', feed: feed.name, counts });
}
