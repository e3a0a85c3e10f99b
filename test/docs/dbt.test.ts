import { readFileSync } from 'node:fs';
import { sql } from 'kysely';
import { beforeAll, expect, test } from 'vitest';
import { parse } from 'yaml';
import { startSandbox } from '#sandbox';
import { aWarehouseForAll } from '../support/for-all.ts';
import { aJob, runBackfill } from '../support/run-backfill.ts';

interface Table {
  readonly name: string;
  readonly config?: { readonly loaded_at_field: string; readonly freshness: { readonly filter?: string } };
  readonly data_tests?: readonly {
    readonly unique_together: { readonly arguments: { readonly columns: readonly string[] } };
  }[];
  readonly columns: readonly { readonly name: string; readonly data_tests?: readonly string[] }[];
}

const warehouse = await aWarehouseForAll();
const { sources } = parse(readFileSync(new URL('../../docs/dbt/sources.yml', import.meta.url), 'utf8'));
const tables: readonly Table[] = sources[0].tables;

/** Two feeds, with revised and withdrawn headlines and days that are not settled yet. */
beforeAll(async () => {
  let now = new Date('2026-01-03T12:00:00Z');
  const clock = () => now;
  const changes = { late: 0.05, revised: 0.3, withdrawn: 0.1 };
  await using sandbox = await startSandbox({ limits: null, clock, changes });
  const period = { countries: ['US', 'NO'], topics: ['Inflation-Food'], start_date: '2025-12-01' };
  for (const day of ['2026-01-03', '2026-01-10']) {
    now = new Date(`${day}T12:00:00Z`);
    for (const feed of ['gmsi-headlines', 'gmsi-index']) {
      const job = aJob({ ...period, feed, end_date: 'today' }, day);
      const plan = { fullRefresh: true, retryRefused: false };
      await runBackfill({ job, db: warehouse.db, sandbox, clock, plan });
    }
  }
});

async function numberOf(query: string): Promise<number> {
  const { rows } = await sql.raw<{ n: number }>(`select count(*) as n from ${query}`).execute(warehouse.db);
  return rows[0]!.n;
}

test('docs/dbt/sources.yml has every table that a reader may read, but for what tells of the pipeline itself', async () => {
  const { rows } = await sql<{ name: string }>`
    select relname as name from pg_class
    where relnamespace = 'gmsi'::regnamespace and relkind in ('r', 'p', 'v') and not relispartition
      and has_table_privilege('gmsi_reader', oid, 'select')`.execute(warehouse.db);
  const ofThePipeline =
    'origin windows queue readings series series_days series_states loads processes imported_files learned_facts service_descriptions wire_fields moments rejected_records check_results known_findings kysely_migration'.split(
      ' ',
    );
  const named = tables.map(({ name }) => name);
  expect(new Set([...named, ...ofThePipeline])).toEqual(new Set(rows.map(({ name }) => name)));
  expect(named).toHaveLength(rows.length - ofThePipeline.length);
});

test('the tests that it names pass on what is loaded', async () => {
  for (const view of ['headline_revisions', 'headlines_point_in_time', 'coverage_gaps', 'coverage_by_day'])
    expect(await numberOf(`gmsi.${view}`), view).toBeGreaterThan(0);
  const tested = tables.flatMap(({ name, columns }) =>
    columns.flatMap((column) =>
      (column.data_tests ?? []).map((kind) => ({ name, column: column.name, kind })),
    ),
  );
  expect(new Set(tested.map(({ kind }) => kind))).toEqual(new Set(['unique', 'not_null']));
  for (const { name, column, kind } of tested) {
    const failing =
      kind === 'unique'
        ? `(select from gmsi.${name} group by ${column} having count(*) > 1) as doubled`
        : `gmsi.${name} where ${column} is null`;
    expect([name, column, kind, await numberOf(failing)]).toEqual([name, column, kind, 0]);
  }
});

const macro = readFileSync(
  new URL('../../docs/dbt/tests/generic/unique_together.sql', import.meta.url),
  'utf8',
);

/** The query that dbt makes of its macro, for a table and the columns of its key. */
function doubles(table: string, columns: readonly string[]): string {
  const [, body] = /{% test unique_together\(model, columns\) %}(.*){% endtest %}/s.exec(macro)!;
  const query = body!
    .replaceAll("{{ columns | join(', ') }}", columns.join(', '))
    .replaceAll('{{ model }}', table);
  expect(query).not.toMatch(/[{}]/);
  return query;
}

test('every table with a key of several columns has a test that finds a row that is there twice', async () => {
  const keys = tables.flatMap(({ name, data_tests = [] }) =>
    data_tests.map(({ unique_together }) => ({ name, key: unique_together.arguments.columns })),
  );
  const withOne = tables.filter(({ columns }) =>
    columns.some(({ data_tests }) => data_tests?.includes('unique')),
  );
  expect(keys.map(({ name }) => name)).toContain('headlines');
  expect(keys).toHaveLength(tables.length - withOne.length);
  let found = 0;
  for (const { name, key } of keys)
    await warehouse.db.transaction().execute(async (transaction) => {
      const run = async (query: string) => (await sql.raw(query).execute(transaction)).rows;
      expect([name, await run(doubles(`gmsi.${name}`, key))]).toEqual([name, []]);
      // A copy without constraints, as in a warehouse that enforces none.
      await run(`create temp table copy on commit drop as select * from gmsi.${name}`);
      await run('insert into copy select * from copy limit 1');
      const twice = await run(doubles('copy', key));
      expect([name, twice]).toEqual([
        name,
        (await run('select from copy limit 1')).map(() => expect.anything()),
      ]);
      for (const row of twice) expect(row).toMatchObject({ number_of_rows: 2 });
      found += twice.length;
    });
  expect(found).toBeGreaterThan(5);
});

test('freshness is asked of columns that are there', async () => {
  expect(tables.filter(({ config }) => config).map(({ name }) => name)).toContain('headlines');
  for (const { name, config } of tables)
    if (config)
      await sql
        .raw(`select ${config.loaded_at_field} from gmsi.${name} where ${config.freshness.filter ?? true}`)
        .execute(warehouse.db);
});

const model = (name: string) =>
  readFileSync(new URL(`../../docs/dbt/models/${name}.sql`, import.meta.url), 'utf8');

/** The query that dbt makes of a model; of one that it has run before, if it is told where its rows are. */
function compiled(name: string, rowsOf?: string): string {
  const query = model(name)
    .replaceAll(/{#.*?#}|{{ config\(.*?\) }}/gs, '')
    .replaceAll(/{{ source\('(\w+)', '(\w+)'\) }}/g, (_, source, table) => {
      expect([source, tables.map((it) => it.name)]).toEqual(['gmsi', expect.arrayContaining([table])]);
      return `${source}.${table}`;
    })
    .replaceAll(/{{ var\("\w+", "([^"]*)"\) }}/g, '$1')
    .replaceAll(/{% if is_incremental\(\) %}(.*?){% else %}(.*?){% endif %}/gs, rowsOf ? '$1' : '$2')
    .replaceAll('{{ this }}', rowsOf ?? '');
  expect(query).not.toMatch(/{[{%#]/);
  return query;
}

test('its models are the panel of today, and the days as they were known, which a second run continues', async () => {
  const { models } = parse(
    readFileSync(new URL('../../docs/dbt/models/models.yml', import.meta.url), 'utf8'),
  );
  await warehouse.db.transaction().execute(async (transaction) => {
    const rowsOf = async (query: string) => (await sql.raw<object>(query).execute(transaction)).rows;
    await rowsOf(`set local role gmsi_reader`);
    for (const { name, data_tests } of models as Table[]) {
      await rowsOf(`create temp table ${name} on commit drop as ${compiled(name)}`);
      expect(await rowsOf(`select from ${name} limit 60`)).toHaveLength(60);
      expect(await rowsOf(doubles(name, data_tests![0]!.unique_together.arguments.columns))).toEqual([]);
    }
    const panel = `select country, day, state, all_count, directional_mean from`;
    expect(await rowsOf(`${panel} gmsi.sentiment_by_day except ${panel} gmsi_panel`)).toEqual([]);
    expect(
      await rowsOf(
        `select from gmsi_known_days where known_at <> (day + interval '25 hours') at time zone 'UTC'`,
      ),
    ).toEqual([]);

    const lastDays = 'from gmsi_known_days where day > (select max(day) from gmsi_known_days) - 14';
    const kept = await rowsOf(`select * ${lastDays} order by country, topic, day`);
    await rowsOf(`update gmsi_known_days set all_count = -1`);
    expect(
      await rowsOf(`${compiled('gmsi_known_days', 'gmsi_known_days')} order by country, topic, day`),
    ).toEqual(kept);
  });
});
