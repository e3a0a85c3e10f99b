import type { Day } from '../days.ts';
import type { SandboxSettings } from '../options.ts';
import type { Position } from '../position.ts';
import type { Query } from '../service.ts';
import type { View } from '../view.ts';
import type { WireRecord } from '../wire-record.ts';

/** A checked request, without its range and limit. */
export interface Series {
  /** Everything that distinguishes this series from others of the feed; cursors are bound to it. */
  readonly asked: readonly unknown[];
  /** Returns everything that the feed serves for a UTC day, oldest first, equal times by id. */
  readonly itemsOfDay: (day: Day) => readonly FeedItem[];
}

/** A record and its place in the feed. Its id contains no space. */
export interface FeedItem extends Position {
  readonly toWire: () => WireRecord;
}

export interface Feed<Name extends string = string> {
  readonly name: Name;
  /** The route, with `:name` for path parameters. */
  readonly route: string;
  /** @throws Refusal if the service would refuse the request */
  readonly series: (params: Readonly<Record<string, string>>, query: Query, view: View) => Series;
}

/** A historical feed, with a range of days and a cursor (docs/service.md, "Paging"). */
export interface PagedFeed<Name extends string = string> extends Feed<Name> {
  readonly kind: 'paged';
  readonly method: 'GET' | 'POST';
  /** How many days before today `start_date` may be, in addition to the setting for all feeds. */
  readonly historyLimitDays?: (settings: SandboxSettings) => number | null;
}

/** A feed of the last hours, newest first, cut off at the limit. */
export interface LiveFeed<Name extends string = string> extends Feed<Name> {
  readonly kind: 'live';
  readonly hours: number;
  /** Most records of an answer to a request without a limit. Default: 100. */
  readonly defaultLimit?: number;
}

/** Returns a historical feed, and the live feed of the same records, whose path has `live` for `historical`. */
export function withLive<Name extends string>({
  hours,
  defaultLimit = 100,
  ...feed
}: Omit<PagedFeed<Name>, 'kind' | 'method'> & Pick<LiveFeed, 'hours' | 'defaultLimit'>): readonly [
  PagedFeed<Name>,
  LiveFeed<`${Name}-live`>,
] {
  const { name, route, series } = feed;
  return [
    { ...feed, kind: 'paged', method: 'GET' },
    {
      kind: 'live',
      name: `${name}-live`,
      route: route.replace('historical', 'live'),
      hours,
      defaultLimit,
      series,
    },
  ];
}
