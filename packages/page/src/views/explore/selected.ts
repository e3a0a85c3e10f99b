import { address } from '../../address.ts';
import { titleOf } from '../../buckets.ts';
import { behindOf, type Chart, isTrailing } from '../../draw/points.ts';
import { aDay, plusDays, readDays, today } from '../../time.ts';

/** A period of a chart in milliseconds: that of a point, or chosen days. */
export interface Selected {
  readonly from: number;
  readonly to: number;
  readonly title: string;
  /** The bucket of the point. */
  readonly open: number | null;
}

/** Returns the open point or the chosen days; by default the last seven days that were over at the moment. */
export function selectedIn(chart: Chart, asOf: string | null): Selected {
  const open = openIn(chart);
  if (open !== null) {
    const bucket = titleOf(chart.starts[open]!, chart.by);
    const title = isTrailing(chart, open) ? `the ${chart.smooth} days up to ${bucket}` : bucket;
    return { ...behindOf(chart, open), title, open };
  }
  const yesterday = plusDays(asOf?.slice(0, 10) ?? today(), -1);
  const last = chart.to < yesterday ? chart.to : yesterday;
  const week = [plusDays(last, -6), chart.from].toSorted()[1]!;
  const [from, to] =
    readDays(address.value.get('days')) ?? (week <= last ? [week, last] : [chart.from, chart.to]);
  const title = from === to ? from : `${from} to ${to}`;
  return { from: Date.parse(from), to: Date.parse(to) + aDay, title, open };
}

/** Returns the bucket of the moment in the address, so that a point stays open if the kind of buckets changes. */
export function openIn({ starts, ends }: Chart): number | null {
  const moment = Date.parse(address.value.get('at') ?? '');
  const index = starts.findIndex((start, place) => start <= moment && moment < ends[place]!);
  return index === -1 ? null : index;
}
