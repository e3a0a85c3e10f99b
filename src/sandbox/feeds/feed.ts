import type { Day } from '../days.ts';
import type { SandboxSettings } from '../options.ts';
import type { Position } from '../position.ts';
import type { Query } from '../service.ts';
import type { View } from '../view.ts';
import type { WireRecord } from '../wire-record.ts';

/** A checked request to a feed, without its range and limit. */
export interface Series {
  /** Everything that tells this series from others of the feed; cursors are bound to it. */
  readonly asked: readonly unknown[];
  /** Everything that the feed serves for a day in UTC, oldest first, equal times by id. */
  readonly itemsOfDay: (day: Day) => readonly FeedItem[];
}

/** A record and its place in the feed. Its id holds no space. */
export interface FeedItem extends Position {
  readonly toWire: () => WireRecord;
}

/** What all feeds have in common. */
export interface Feed<Name extends string = string> {
  readonly name: Name;
  /** The route, with `:name` for path parameters. */
  readonly route: string;
  /** Throws a Refusal if the service would refuse the request. */
  readonly series: (params: Readonly<Record<string, string>>, query: Query, view: View) => Series;
}

/** A feed of the past, with a range of days and a cursor (docs/service.md, "Paging"). */
export interface PagedFeed<Name extends string = string> extends Feed<Name> {
  readonly kind: 'paged';
  readonly method: 'GET' | 'POST';
  /** How many days before today `start_date` may be, besides the setting for all feeds. */
  readonly historyLimitDays?: (settings: SandboxSettings) => number | null;
}

/** A feed of the last hours, newest first, cut off at the limit. */
export interface LiveFeed<Name extends string = string> extends Feed<Name> {
  readonly kind: 'live';
  readonly hours: (settings: SandboxSettings) => number;
  /** The most records of an answer to a request without a limit; 100 if left out. */
  readonly defaultLimit?: number;
}
