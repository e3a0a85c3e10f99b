import type { ColumnType, Dimension, Feed, FeedTable, ParameterNames, RecordShape, Series } from './feed.ts';
import { createRecordReader } from './reading/read-record.ts';

/** Columns with their types and the field names that may fill them, best first. */
export type ReadColumns = Readonly<Record<string, readonly [ColumnType, ...(readonly string[])]>>;

/** The definition of a feed; parts that most feeds lack are optional. */
interface FeedDefinition<Name extends string>
  extends Pick<Feed<Name>, 'name' | 'dimensions'>,
    Partial<Pick<Feed, 'method' | 'matchTypes' | 'variants'>>,
    Pick<RecordShape, 'identity' | 'required'>,
    Partial<Pick<RecordShape, 'differences'>> {
  /** `{ticker}` stands for a part of a series, or for one of its further parameters. */
  readonly path: string;
  /** Parameters besides the dates, the page size and the cursor. */
  readonly parameters?: Pick<ParameterNames, 'topic' | 'matchType'>;
  /** How far back its live feed reaches, if it has one. */
  readonly liveHours?: number;
  readonly liveQuery?: Readonly<Record<string, string>>;
  /** All columns except `extra` and the id of an aggregate. */
  readonly columns: ReadColumns;
  /** The table, if it is not called as the feed. */
  readonly table?: string;
  readonly isPartitioned: boolean;
  /** False if a job cannot name further parameters, because no column distinguishes their values. */
  readonly hasVariants?: false;
}

/** Documented for asset feeds; our best guess for the others (docs/service.md, "Paging", "Asset feeds"). */
const windowParameters = {
  startDate: 'start_date',
  endDate: 'end_date',
  limit: 'limit',
  nextToken: 'next_token',
};

/**
 * Derives a feed from its definition: types, aliases, key and live feed. Our best guess for the path of the live feed is that
 * of the historical feed with `/live/` instead of `/historical/` (docs/service.md, "Live feeds").
 */
export function defineFeed<Name extends string>(definition: FeedDefinition<Name>): Feed<Name> {
  const { name, dimensions, method = 'GET', matchTypes = [], variants = {}, isPartitioned } = definition;
  const { identity, required, differences = [], hasVariants = true } = definition;
  const { liveHours: hours, liveQuery: query = {} } = definition;
  const read = Object.entries(definition.columns);
  const time = 'of' in identity ? identity.of[0]! : identity.time;
  const id = 'of' in identity || identity.apart ? 'entry_id' : identity.id;
  const columns: FeedTable['columns'] = {
    [id]: 'uuid',
    ...Object.fromEntries(read.map(([column, [type]]) => [column, type])),
    extra: 'jsonb',
  };
  const fields = Object.fromEntries(read.map(([column, [, ...names]]) => [column, names]));
  const path = (series: Series) =>
    definition.path.replace(/\{(\w+)\}/g, (_, part: string) =>
      encodeURIComponent(series[part as Dimension] ?? new URLSearchParams(series.variant).get(part) ?? ''),
    );
  const livePath = (series: Series) => path(series).replace('/historical/', '/live/');
  return {
    name,
    dimensions,
    method,
    path,
    matchTypes,
    variants,
    inPath: Object.keys(variants).filter((parameter) => definition.path.includes(`{${parameter}}`)),
    fields,
    ...(hours !== undefined && { live: { path: livePath, hours, query } }),
    parameters: { ...windowParameters, ...definition.parameters },
    table: {
      name: definition.table ?? name.replaceAll('-', '_'),
      series: [
        ...dimensions,
        ...(matchTypes.length > 0 ? (['match_type'] as const) : []),
        ...(hasVariants ? (['variant'] as const) : []),
      ],
      columns,
      key: [time, id],
      isPartitioned,
    },
    reader: (overrides) =>
      createRecordReader({ columns, fields, identity, differences, required }, overrides),
  };
}
