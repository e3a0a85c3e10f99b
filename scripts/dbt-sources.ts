import { Document, isCollection, isMap, visit } from 'yaml';
import { catalog } from '../src/feeds/catalog.ts';
import type { Column, Relation } from './data-dictionary.ts';

/** When dbt is to warn of a source, and when to fail. */
interface Freshness {
  readonly loaded_at_field: string;
  readonly freshness: {
    readonly warn_after: Period;
    readonly error_after: Period;
    /** Keeps dbt from reading every partition for one maximum. */
    readonly filter?: string;
  };
}

interface Period {
  readonly count: number;
  readonly period: 'hour' | 'day';
}

/** What of a table or view is dbt's own affair; the rest follows from the database. */
interface Source {
  readonly config?: Freshness;
  /** Columns of a view that are never null; a table's own constraints say so. */
  readonly notNull?: readonly string[];
  /** Columns that together identify a row of a view; a table's primary key says so. */
  readonly key?: readonly string[];
}

const hours = (count: number): Period => ({ count, period: 'hour' });

/** Of a feed that is synced daily: two syncs missed, three missed. */
function changedWithin(time: string): Freshness {
  const filter = `${time} >= now() - interval '14 days'`;
  return {
    loaded_at_field: 'changed_at',
    freshness: { warn_after: hours(36), error_after: hours(72), filter },
  };
}

const series = ['feed', 'country', 'topic', 'ticker', 'match_type', 'variant'];

const sumOf = ['country', 'topic', 'match_type', 'sentiment_type'];

const sums = [
  ...sumOf,
  'all_count',
  'headline_count',
  'sentiment_sum',
  'sentiment_abs_sum',
  'probability_sum',
  'weighted_sum',
  'state',
];

/** What analysts use, in the order in which they will look for it. */
export const sources: Readonly<Record<string, Source>> = {
  headlines: { config: changedWithin('published_at') },
  headline_revisions: {},
  headlines_point_in_time: {
    notNull: [
      'headline_id',
      'country',
      'topic',
      'match_type',
      'published_at',
      'first_seen_at',
      'known_from',
      'is_backfilled',
      'is_first',
      'load_id',
      'entered_at',
      'usable_from',
    ],
    key: ['headline_id', 'country', 'topic', 'match_type', 'published_at', 'known_from'],
  },
  sentiment_hourly: { notNull: ['hour', ...sums], key: [...sumOf, 'hour'] },
  sentiment_daily: { notNull: ['day', ...sums], key: [...sumOf, 'day'] },
  ...Object.fromEntries(
    [...catalog.values()]
      .filter(({ name }) => name !== 'gmsi-headlines')
      .map(({ table }) => [table.name, { config: changedWithin(table.key[0]) }]),
  ),
  index_daily: {
    notNull: ['feed', 'subject', 'topic', 'match_type', 'variant', 'day', 'hours'],
    key: ['feed', 'subject', 'topic', 'match_type', 'variant', 'day'],
  },
  rescorings: {
    notNull: [
      'command',
      'job',
      'started_at',
      'headlines',
      'known_headlines',
      'first_published_at',
      'last_published_at',
    ],
    key: ['load_id'],
  },
  arrival_delays: { notNull: ['headlines', 'p50', 'p99'], key: ['source'] },
  revisions: {},
  countries: {},
  topics: {},
  topic_guide: { notNull: ['topic', 'listed', 'directional_plus', 'semantic_plus'], key: ['topic'] },
  lookups: {},
  coverage: { notNull: [...series, 'days', 'updated_at'], key: series },
  markets: { notNull: ['country', 'market', 'currency', 'zone'], key: ['country'] },
  market_closes: { notNull: ['market', 'day', 'at'], key: ['market', 'day'] },
  closes: {},
  watched: { notNull: [...series, 'day'], key: [...series, 'day'] },
  sentiment_by_day: {
    notNull: ['country', 'topic', 'match_type', 'day', 'state'],
    key: ['country', 'topic', 'match_type', 'day'],
  },
  coverage_by_day: { notNull: [...series, 'day', 'state'], key: [...series, 'day'] },
  coverage_gaps: {
    notNull: [...series, 'from_day', 'to_day', 'days', 'state'],
    key: [...series, 'from_day'],
  },
};

/** docs/dbt/sources.yml: what dbt is to know of these tables, as the database's comments and constraints have it. */
export function renderDbtSources(relations: readonly Relation[], columns: readonly Column[]): string {
  const tables = Object.entries(sources).map(([name, { config, notNull = [], key = [] }]) => {
    const own = columns.filter(({ relation }) => relation === name);
    const keys = own
      .filter(({ column, in_key }) => in_key || key.includes(column))
      .map(({ column }) => column);
    return {
      name,
      description: relations.find((relation) => relation.name === name)?.comment,
      ...(config && { config }),
      ...(keys.length > 1 && { data_tests: [{ unique_together: { arguments: { columns: keys } } }] }),
      columns: own.map(({ column, type, nullable, comment }) => {
        const tests = [
          ...(keys.length === 1 && keys[0] === column ? ['unique'] : []),
          ...(!nullable || notNull.includes(column) ? ['not_null'] : []),
        ];
        return {
          name: column,
          description: comment,
          data_type: type,
          ...(tests.length > 0 && { data_tests: tests }),
        };
      }),
    };
  });
  const document = new Document({
    version: 2,
    sources: [{ name: 'gmsi', schema: 'gmsi', description, tables }],
  });
  visit(document, {
    Pair: (_, { key, value }) => {
      if (isCollection(value)) value.flow = oneLine.includes(String(key)) && !value.items.some(isMap);
    },
  });
  return `${head}\n${document.toString({ lineWidth: 0 })}`;
}

/** What is short enough to stand in one line. */
const oneLine = ['data_tests', 'columns', 'warn_after', 'error_after'];

const description =
  'Headlines of the Global Macro Sentiment Indices and what they add up to, as gmsi-etl loads them.';

const head = `\
# Sources for dbt (1.10.8 or newer): put this file and those of models/ below models/, and tests/generic/unique_together.sql
# below tests/generic/. Give dbt's user the role gmsi_reader, adapt the freshness to how often you sync, and delete the
# sources that no job of yours loads. Descriptions are the database's own comments. Written by \`npm run dictionary\`;
# do not edit it by hand.
`;
