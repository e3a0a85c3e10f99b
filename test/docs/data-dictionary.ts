import { sql } from 'kysely';
import { catalog } from '../../src/feeds/catalog.ts';
import type { Feed, Series } from '../../src/feeds/feed.ts';
import type { Warehouse } from '../../src/warehouse/connect.ts';

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

/** docs/data-dictionary.md, as the comments in the database have it. */
export function renderDataDictionary(relations: readonly Relation[], columns: readonly Column[]): string {
  const sections = relations.map((relation) => {
    const title = `## gmsi.${relation.name}`;
    if (relation.kind === 'function') {
      return `${title}\n\n\`gmsi.${relation.name}${relation.signature}\`\n\n${relation.comment ?? ''}`;
    }
    const rows = columns.filter((column) => column.relation === relation.name).map(describeColumn);
    return `${title}\n\n${relation.comment ?? ''}\n\n| column | type | meaning |\n|---|---|---|\n${rows.join('\n')}`;
  });
  const feeds = [...catalog.values()].map(describeFeed);
  return `${head}\n${feeds.join('\n')}\n\n${sections.join('\n\n')}\n`;
}

const head = `# Data dictionary

Every table and column of the schema \`gmsi\`, as their comments in the database say it (\`\\d+ gmsi.headlines\` in psql
shows the same). Written by \`npx vitest run test/docs/data-dictionary.test.ts -u\`; do not edit it by hand.

**key**: part of the primary key. **?**: may be null.

## Feeds

Where each table comes from; paths are below \`/v1\`, and [loading.md](loading.md#feeds) says which of them are documented.

| feed | table | historical path | live path |
|---|---|---|---|`;

/** The series of which each part is its name in the path. */
const names = { country: '{country}', ticker: '{ticker}', variant: 'model={model}' } as Series;

function describeFeed({ name, method, path, live, table }: Feed): string {
  const written = (pathOf: Feed['path']) => decodeURIComponent(pathOf(names));
  const historical = `${method === 'POST' ? 'POST ' : ''}${written(path)}`;
  return `| \`${name}\` | \`gmsi.${table.name}\` | \`${historical}\` | ${live ? `\`${written(live.path)}\`` : ''} |`;
}

function describeColumn({ column, type, nullable, in_key, comment }: Column): string {
  const name = in_key ? `\`${column}\` **key**` : `\`${column}\``;
  return `| ${name} | ${type}${nullable ? ' ?' : ''} | ${(comment ?? '').replaceAll('|', '\\|')} |`;
}
