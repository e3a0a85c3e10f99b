import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { aFolder, gmsi } from '../cli/gmsi.ts';
import { aStorage, bucket } from '../support/a-storage.ts';
import { aWarehouse } from '../support/test-warehouse.ts';
import { sqlIn } from '../support/warehouse-state.ts';

/*
 * Engines read an export where it lies, over the protocol of S3. They are 700 MB, so they are not among the dependencies:
 * npm install --prefix /tmp/engines chdb nodejs-polars nodejs-polars-linux-x64-gnu
 * ENGINES=/tmp/engines npx vitest run --project test test/export/other-engines.test.ts
 */
const folder = process.env.ENGINES ?? '';

/** Print the number of rows, the sum of a score and the largest month of `s3://exports/all`. */
const readers = {
  'ClickHouse (chdb)': `
    const { query } = load('chdb');
    const [rows, sum, month] = JSON.parse(query(
      \`select count(), sum(directional_score), max(extract(_path, 'month=([^/]+)'))
        from s3('\${endpoint}/exports/all/month=*/*.parquet', 'S3RVER', 'S3RVER', 'Parquet')\`, 'JSONCompactEachRow'));
    print(Number(rows), sum, month);`,
  Polars: `
    const pl = load('nodejs-polars');
    const cloudOptions = { aws_endpoint_url: endpoint, aws_region: 'us-east-1', aws_allow_http: 'true',
      aws_access_key_id: 'S3RVER', aws_secret_access_key: 'S3RVER' };
    const found = await pl.scanParquet('s3://exports/all/**/*.parquet', { cloudOptions, hivePartitioning: true })
      .select(pl.col('headline_id').count().alias('rows'), pl.col('directional_score').sum().alias('sum'),
        pl.col('month').cast(pl.Utf8).max().alias('month')).collect();
    const [{ rows, sum, month }] = found.toRecords();
    print(rows, sum, month);`,
};

it.skipIf(folder === '').each(Object.entries(readers))(
  '%s reads an export on S3 (skipped without ENGINES)',
  async (_, reader) => {
    await using storage = await aStorage();
    await using warehouse = await aWarehouse();
    await using here = await aFolder();
    for (const month of ['2024-01', '2024-02']) {
      await sqlIn(warehouse.db)`select gmsi.ensure_month_partition('headlines', ${`${month}-01`}::date)`;
      await sqlIn(warehouse.db)`
        insert into gmsi.headlines (headline_id, country, topic, match_type, published_at, headline, directional_score, is_backfilled, load_id)
        select gen_random_uuid(), 'US', 'Wars', 'COMBINED', ${`${month}-10Z`}::timestamptz, 'x', 0.25, false, 1
        from generate_series(1, 200)`;
    }
    const env = { DATABASE_URL: warehouse.url, ...storage.env };
    const exported = await gmsi(['export', '--out', `s3://${bucket}/all`], { cwd: here.path, env });
    expect(exported).toMatchObject({ code: 0 });
    const program = `
      import { createRequire } from 'node:module';
      const load = createRequire('${folder}/package.json');
      const endpoint = '${storage.endpoint}';
      const print = (...found) => console.log(JSON.stringify(found));
      ${reader}`;
    // In another process, because an engine blocks its own, and the storage is in this one.
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program]);
    expect(JSON.parse(stdout)).toEqual([400, 100, '2024-02']);
  },
);
