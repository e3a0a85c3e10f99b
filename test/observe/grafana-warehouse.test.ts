import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { sql } from 'kysely';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { startSandbox } from '#sandbox';
import { root } from '../docs/pages.ts';
import { aWarehouseForAll } from '../support/for-all.ts';
import { aJob, runBackfill } from '../support/run-backfill.ts';
import { sqlIn } from '../support/warehouse-state.ts';

interface DataSource {
  readonly type: string;
  readonly uid: string;
}
interface Panel {
  readonly title: string;
  readonly datasource: DataSource;
  readonly targets: readonly { readonly datasource: DataSource; format: string; rawSql: string }[];
}
interface Variable {
  readonly name: string;
  readonly query: string;
  readonly datasource?: DataSource;
  readonly current: { readonly value?: string };
}

const textOf = (file: string) => readFileSync(join(root, 'docs/observability/grafana', file), 'utf8');

const { panels, templating } = JSON.parse(textOf('dashboards/warehouse.json')) as {
  panels: Panel[];
  templating: { list: Variable[] };
};
const [warehouseChosen, ...variables] = templating.list as [Variable, ...Variable[]];
const { datasources } = parse(textOf('datasources/warehouse.yaml')) as {
  datasources: (DataSource & { readonly user: string; readonly secureJsonData: unknown })[];
};
const queries = panels.flatMap(({ title, targets }) =>
  targets.map(({ rawSql, format }) => ({ title, text: rawSql, format })),
);

/** In a time that the test has loaded, of series with news. */
const chosen = {
  from: '2024-03-01T10:30:00Z',
  to: '2024-03-20T10:30:00Z',
  match_type: ['COMBINED'],
  country: ['US', "a country's"],
  topic: ['Inflation-Food', 'Governance/Corruption'],
};

/** The query as Grafana sends it: its macros and the variables of the dashboard filled in. */
function asSent(text: string, { from, to, ...lists }: typeof chosen = chosen): string {
  return text
    .replaceAll(/\$__timeFilter\(([^)]*)\)/g, `$1 BETWEEN '${from}' AND '${to}'`)
    .replaceAll('$__timeFrom()', `'${from}'`)
    .replaceAll('$__timeTo()', `'${to}'`)
    .replaceAll(/\$\{(\w+):sqlstring\}/g, (_, name: keyof typeof lists) =>
      lists[name].map((value) => `'${value.replaceAll("'", "''")}'`).join(','),
    );
}

const mapValues = (row: object, each: (value: unknown) => unknown) =>
  Object.fromEntries(Object.entries(row).map(([name, value]) => [name, each(value)]));

const warehouse = await aWarehouseForAll();
let grafana: pg.Client;

beforeAll(async () => {
  const match = ({ path }: { path: string }) => path.endsWith('/NO');
  await using sandbox = await startSandbox({
    limits: null,
    volume: 0.3,
    faults: { script: [{ kind: 'refuse', status: 422, times: 1, match }] },
  });
  const job = aJob({
    countries: ['US', 'NO', 'JP'],
    start_date: '2024-02-01',
    end_date: '2024-03-31',
    step: 'P20D',
  });
  await runBackfill({ job, db: warehouse.db, sandbox });
  // Rescored long after its day.
  await sqlIn(warehouse.db)`
    update gmsi.headlines set directional_score = 0.9, changed_at = now()
    where country = 'US' and published_at >= '2024-03-10Z' and published_at < '2024-03-11Z'`;
  await sqlIn(warehouse.db)`
    insert into gmsi.rejected_records (feed, country, topic, match_type, record_hash, reason, record, load_id)
    values ('gmsi-headlines', 'US', 'Inflation-Food', 'COMBINED', gen_random_uuid(), 'no time', '{}', 1)`;
  await sqlIn(warehouse.db)`
    insert into gmsi.check_results (job, check_name, title, severity, result, findings)
    values ('test', 'nulls', 'No score is null.', 'fail', 'passed', 0)`;
  // The statements of psql aside, as they are in the compose file's PostgreSQL.
  const statements = textOf('login.sql')
    .replaceAll(/^\\.*$/gm, '')
    .replace(":'password'", "'secret'");
  await sql.raw(statements).execute(warehouse.db);
  await sql.raw(statements).execute(warehouse.db);
  const url = new URL(warehouse.url);
  Object.assign(url, { username: datasources[0]!.user, password: 'secret' });
  grafana = new pg.Client({ connectionString: url.href });
  await grafana.connect();
});

afterAll(async () => {
  await grafana?.end();
  await sqlIn(warehouse.db)`drop role if exists grafana`;
});

describe('the dashboard of what is loaded', () => {
  it.each(queries)('asks, as Grafana does: $title', async ({ text, format }) => {
    const sent = asSent(text);
    expect(sent).not.toContain('$');
    const { rows, fields } = await grafana.query<Record<string, unknown>>(sent);
    expect(rows).not.toHaveLength(0);
    if (format !== 'time_series') return;
    expect(fields[0]!.name).toBe('time');
    const times = rows.map(({ time }) => (time as Date).toISOString());
    expect(times).toEqual(times.toSorted());
    // The whole days of the time, in UTC.
    expect([times[0], times.at(-1)]).toEqual(['2024-03-01T00:00:00.000Z', '2024-03-20T00:00:00.000Z']);
  });

  it('counts what the warehouse holds', async () => {
    const answer = async (title: string, of = chosen) => {
      const { text } = queries.find((one) => one.title === title)!;
      return Number(Object.values((await grafana.query(asSent(text, of))).rows[0]).at(0));
    };
    const rows = await sqlIn(warehouse.db)<{ headlines: number }>`
      select count(*)::int as headlines from gmsi.headlines
      where country = 'US' and published_at >= '2024-03-01' and published_at < '2024-03-21'`;
    expect(await answer('Headlines')).toBe(rows[0]!.headlines);
    expect(await answer('Days covered')).toBe(1);
    expect(await answer('Days covered', { ...chosen, country: ['NO'] })).toBeLessThan(1);
    // A refused window, and the two that were skipped because of it.
    expect(await answer('Days not loaded')).toBe(60);
  });

  it('shows the topics in all countries, and each day as it was known beside how it is now', async () => {
    // In any order of its headlines, a sum has these digits.
    const rounded = (value: unknown) => (typeof value === 'number' ? value.toFixed(9) : value);
    const rowsOf = async (title: string) => {
      const { rows } = await grafana.query(asSent(queries.find((one) => one.title === title)!.text));
      return rows.map((row) => mapValues(row, rounded));
    };
    const wanted = await sqlIn(warehouse.db)<object>`
      select topic, count(*)::text as days, sum(all_count)::text as headlines,
             sum(directional_sum) / nullif(sum(directional_count), 0) as directional
      from gmsi.sentiment_by_day where day between '2024-03-01' and '2024-03-20' and topic = any(${chosen.topic}) and state = 'covered'
      group by country, topic order by directional desc nulls last, topic, country`;
    expect(wanted.length).toBeGreaterThan(1);
    expect(await rowsOf('Topics by country')).toMatchObject(wanted.map((row) => mapValues(row, rounded)));

    const values = await rowsOf('Directional sentiment as it was known');
    const of = (metric: string) =>
      values.filter((row) => row.metric === metric).map(({ time, value }) => ({ time, value }));
    const now = await sqlIn(warehouse.db)<object>`
      select day::timestamp at time zone 'UTC' as time, sum(directional_sum) / sum(directional_count) as value
      from gmsi.sentiment_by_day
      where day between '2024-03-01' and '2024-03-20' and country = 'US' and topic = any(${chosen.topic})
      group by day order by day`;
    expect(of('now')).toEqual(now.map((row) => mapValues(row, rounded)));
    const differing = of('an hour after its end').filter((row, n) => row.value !== of('now')[n]!.value);
    expect(differing.map(({ time }) => time)).toEqual([new Date('2024-03-10')]);
  });

  it('chooses among what is loaded, each variable by those before it', async () => {
    const known = new Set<string>();
    for (const { name, query } of variables) {
      const used = [...query.matchAll(/\$\{?(\w+)/g)].map(([, used]) => used!);
      expect(used.filter((one) => !known.has(one))).toEqual([]);
      known.add(name);
      const { rows } = await grafana.query<Record<string, string>>(asSent(query));
      expect(rows.map((row) => Object.values(row)[0])).toContain(chosen[name as 'country'][0]);
    }
    const used = queries.flatMap(({ text }) => [...text.matchAll(/\$\{(\w+):/g)].map(([, name]) => name!));
    expect(new Set(used)).toEqual(known);
  });

  it('asks the data source that is chosen, at first the one that is provisioned for the loads', () => {
    const type = 'grafana-postgresql-datasource';
    const asked = [...panels, ...panels.flatMap(({ targets }) => targets), ...variables];
    for (const { datasource } of asked)
      expect(datasource).toEqual({ type, uid: `\${${warehouseChosen.name}}` });
    expect(warehouseChosen).toMatchObject({ type: 'datasource', query: type });
    expect(datasources.map((one) => one.type)).toEqual([type, type]);
    expect(warehouseChosen.current.value).toBe(datasources[0]!.uid);
  });
});

it('its login reads and cannot write, not even if it says that it will', async () => {
  await grafana.query('set default_transaction_read_only = off');
  for (const statement of ['delete from gmsi.headlines', 'create table gmsi.mine ()', 'table gmsi.api_usage'])
    await expect(grafana.query(statement)).rejects.toThrow('permission denied');
  await grafana.query('reset default_transaction_read_only');
  await expect(grafana.query('create temp table mine ()')).rejects.toThrow('read-only transaction');
});
