import { sql } from 'kysely';
import { catalog } from '../src/feeds/catalog.ts';
import type { Feed, Series } from '../src/feeds/feed.ts';
import type { Warehouse } from '../src/warehouse/connect.ts';

export interface Column {
  readonly relation: string;
  readonly column: string;
  readonly type: string;
  readonly nullable: boolean;
  readonly in_key: boolean;
  readonly comment: string | null;
}

export interface Relation {
  readonly name: string;
  readonly kind: 'table' | 'view' | 'function';
  /** Of a function, its arguments and what it returns. */
  readonly signature: string;
  readonly comment: string | null;
}

/** Tables, views and functions of the warehouse with their comments; partitions and the migrator's tables left out. */
export async function readRelations(db: Warehouse): Promise<Relation[]> {
  const { rows } = await sql<Relation>`
    select c.relname as name, case when c.relkind in ('v', 'm') then 'view' else 'table' end as kind, '' as signature,
           obj_description(c.oid, 'pg_class') as comment
    from pg_class c
    where c.relnamespace = 'gmsi'::regnamespace and c.relkind in ('r', 'p', 'v', 'm') and not c.relispartition
      and c.relname !~ '^kysely_'
    union all
    select p.proname, 'function',
           '(' || pg_get_function_identity_arguments(p.oid) || ') returns ' || pg_get_function_result(p.oid),
           obj_description(p.oid, 'pg_proc')
    from pg_proc p
    where p.pronamespace = 'gmsi'::regnamespace
    order by kind desc, name
  `.execute(db);
  return rows;
}

/** The columns of these tables and views, in their order. */
export async function readColumns(db: Warehouse): Promise<Column[]> {
  const { rows } = await sql<Column>`
    select c.relname as relation, a.attname as "column", format_type(a.atttypid, a.atttypmod) as type,
           not a.attnotnull as nullable, coalesce(a.attnum = any(i.indkey), false) as in_key,
           col_description(c.oid, a.attnum) as comment
    from pg_class c
    join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
    left join pg_index i on i.indrelid = c.oid and i.indisprimary
    where c.relnamespace = 'gmsi'::regnamespace and c.relkind in ('r', 'p', 'v', 'm') and not c.relispartition
      and c.relname !~ '^kysely_'
    order by c.relname, a.attnum
  `.execute(db);
  return rows;
}

/** What analysts use, in the order in which they will look for it. */
const forAnalysts = [
  'topic_guide',
  'sentiment_by_day',
  'sentiment_daily',
  'sentiment_hourly',
  'headlines',
  'headline_revisions',
  'headlines_point_in_time',
  'index_daily',
  'coverage_by_day',
  'coverage_gaps',
  'arrival_delays',
  'rescorings',
  'markets',
  'market_closes',
  'closes',
  'headlines_as_of',
  'signals',
  'sentiment_daily_as_known',
  'novelty',
  'story_key',
  'moment',
];

/** docs/data-dictionary.md, as the comments in the database have it. */
export function renderDataDictionary(relations: readonly Relation[], columns: readonly Column[]): string {
  const meanings = new Map<string, string>();
  const used = forAnalysts.map((name) => relations.find((relation) => relation.name === name)!);
  const sections = used
    .filter(({ kind }) => kind !== 'function')
    .map(({ name, comment }) => {
      const rows = describeColumns(
        columns.filter(({ relation }) => relation === name),
        meanings,
      );
      return `## gmsi.${name}\n\n${comment}\n\n| column | type | meaning |\n|---|---|---|\n${rows}`;
    });
  const calls = used
    .filter(({ kind }) => kind === 'function')
    .map(
      ({ name, signature, comment }) => `| \`${name}${shortTypes(signature)}\` | ${firstSentence(comment)} |`,
    );
  sections.push(`${headOfFunctions}\n${calls.join('\n')}`);
  const feeds = [...catalog.values()].map(describeFeed);
  sections.push(`${headOfFeeds}\n${feeds.join('\n')}`);
  const others = relations.filter(({ name }) => !forAnalysts.includes(name) && !/_as_of$/.test(name));
  const functions = others.filter(({ kind }) => kind === 'function').map(({ name }) => `\`${name}\``);
  const rest = others
    .filter(({ kind }) => kind !== 'function')
    .map(({ name, comment }) => `| \`${name}\` | ${firstSentence(comment)} |`);
  rest.push('', `Functions: ${functions.join(', ')}.`);
  return `${head}\n\n${sections.join('\n\n')}\n\n${headOfRest}\n${rest.join('\n')}\n`;
}

const head = `# Data dictionary

What analysts read in the schema \`gmsi\`, as the comments in the database say it, in the order of
[analysis.md](analysis.md#which-table). [The feeds' tables](#feeds) and [all else](#everything-else) are named at the end.
In \`gmsi psql\`, \`\\d+ gmsi.headlines\` shows the comments of any table, and [dbt/sources.yml](dbt/sources.yml) has those
of every table for analysts. Written by \`npm run dictionary\`; do not edit it by hand.

**key**: part of the primary key. **?**: may be null.`;

const headOfFeeds = `## Feeds

Where each table comes from; paths are below \`/v1\`, and [loading.md](loading.md#feeds) says which of them are documented.

| feed | table | historical path | live path |
|---|---|---|---|`;

const headOfFunctions = `## Functions

[analysis.md](analysis.md#what-was-known-when) explains their arguments.

| function | returns |
|---|---|`;

const headOfRest = `## Everything else

Each feed's table \`t\` also has a function \`t_as_of(moment)\`, like [\`headlines_as_of\`](#functions). \`\\d+\` and
\`\\df+\` show the full comments.

| name | what it is |
|---|---|`;

function shortTypes(text: string): string {
  return text.replaceAll('timestamp with time zone', 'timestamptz').replaceAll('double precision', 'float8');
}

function firstSentence(comment: string | null): string {
  return /^.*?[.:](?= |$)/
    .exec(comment ?? '')![0]
    .replace(/:$/, '.')
    .replaceAll('|', '\\|');
}

/** The series of which each part is its name in the path. */
const names = { country: '{country}', ticker: '{ticker}', variant: 'model={model}' } as Series;

function describeFeed({ name, method, path, live, table }: Feed): string {
  const written = (pathOf: Feed['path']) => decodeURIComponent(pathOf(names));
  const historical = `${method === 'POST' ? 'POST ' : ''}${written(path)}`;
  return `| \`${name}\` | \`gmsi.${table.name}\` | \`${historical}\` | ${live ? `\`${written(live.path)}\`` : ''} |`;
}

/** Columns with a meaning of their own, a row each; those that another relation has described, in one row for each relation. */
function describeColumns(columns: readonly Column[], meanings: Map<string, string>): string {
  const rows: string[] = [];
  const repeated = new Map<string, string[]>();
  for (const { relation, column, type, nullable, in_key, comment } of columns) {
    const name = in_key ? `\`${column}\` **key**` : `\`${column}\``;
    const meaning = `${column}: ${comment}`;
    const from = /^As in (gmsi\.headlines), in this version\.$/.exec(comment!)?.[1] ?? meanings.get(meaning);
    if (from === undefined)
      rows.push(
        `| ${name} | ${shortTypes(type)}${nullable ? ' ?' : ''} | ${comment!.replaceAll('|', '\\|')} |`,
      );
    else repeated.set(from, [...(repeated.get(from) ?? []), name]);
    if (from === undefined) meanings.set(meaning, `gmsi.${relation}`);
  }
  for (const [from, names] of repeated) rows.push(`| ${names.join(', ')} | | as in \`${from}\` |`);
  return rows.join('\n');
}
