import { mkdir, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { sql } from 'kysely';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Manifest } from '../../src/export/manifest.ts';
import { difference, none, rowsIn, rowsOfTable } from '../export/exporting.ts';
import { aStorage, aWayTo, download, envFor, type Storage } from '../support/a-storage.ts';
import { cases } from '../support/cases.ts';
import { aWarehouseForAll } from '../support/for-all.ts';
import { aFolder, type Folder, prints, says, startGmsi } from './gmsi.ts';
import { gmsiHere } from './in-process.ts';

const months = ['2024-01', '2024-02', '2024-03'];

let storage: Storage;
const warehouse = await aWarehouseForAll();
let folder: Folder;
let prefix = '';
let exports = 0;

beforeAll(async () => {
  storage = await aStorage();
  for (const month of months) {
    await sql`select gmsi.ensure_month_partition('headlines', ${`${month}-01`}::date)`.execute(warehouse.db);
    // Random texts, so that each file takes more than one packet.
    await sql`
      insert into gmsi.headlines (headline_id, country, topic, match_type, published_at, headline, is_backfilled, load_id)
      select gen_random_uuid(), 'US', 'Wars', 'COMBINED', ${`${month}-10Z`}::timestamptz,
        repeat(gen_random_uuid()::text, 20), false, 1
      from generate_series(1, 200)`.execute(warehouse.db);
  }
});
afterAll(async () => {
  await storage[Symbol.asyncDispose]();
});
beforeEach(async () => {
  folder = await aFolder();
  prefix = `team=a/${++exports}`;
});
afterEach(() => folder[Symbol.asyncDispose]());

function settingOf(env: Readonly<Record<string, string>> = storage.env) {
  return { cwd: folder.path, env: { DATABASE_URL: warehouse.url, ...env } };
}

const command = (...more: string[]) => ['export', '--out', `s3://exports/${prefix}`, ...more];

/** What a reader finds there. */
async function held(): Promise<{ paths: string[]; manifest: Manifest; path: string }> {
  const path = join(folder.path, `held-${++exports}`);
  await mkdir(path);
  const paths = await download(storage, prefix, path);
  return { paths, path, manifest: JSON.parse(await readFile(join(path, '_manifest.json'), 'utf8')) };
}

/** Compares what DuckDB reads of the objects with the table. */
async function expectWhole(): Promise<Manifest> {
  const { path, paths, manifest } = await held();
  expect(difference(await rowsIn(path, manifest), await rowsOfTable(warehouse.db, 'gmsi.headlines'))).toEqual(
    none,
  );
  expect(manifest.complete).toBe(true);
  expect(paths.toSorted()).toEqual(['_manifest.json', ...manifest.files.map((file) => file.path)]);
  return manifest;
}

async function revise(month: string): Promise<void> {
  await sql`
    update gmsi.headlines set semantic_score = random(), changed_at = greatest(now(), changed_at + interval '1 microsecond')
    where published_at = ${`${month}-10Z`}::timestamptz`.execute(warehouse.db);
}

describe('gmsi export to s3://', () => {
  it('writes an export, refuses to write over it, continues it, replaces it, and leaves alone what is of others', async () => {
    const first = await gmsiHere(command(), settingOf());
    expect(first).toMatchObject(prints(0, `s3://exports/${prefix}`));
    await expectWhole();
    expect(await gmsiHere(command(), settingOf())).toMatchObject(
      says(2, `s3://exports/${prefix} is not empty.`),
    );

    await revise('2024-02');
    const continued = await gmsiHere(command('--changed-since', '--json'), settingOf());
    expect(JSON.parse(continued.stdout)).toMatchObject({ written: { months: 1, rows: 200 }, months: 3 });
    await expectWhole();
    const replaced = await gmsiHere(command('--overwrite', '--to', '2024-02-29'), settingOf());
    expect(replaced).toMatchObject({ code: 0 });
    expect((await held()).paths).toEqual([
      '_manifest.json',
      'month=2024-01/part-0.parquet',
      'month=2024-02/part-0.parquet',
    ]);

    prefix = prefix.replace(/\/\d+$/, '');
    expect(await gmsiHere(command('--overwrite'), settingOf())).toMatchObject(
      says(2, /exports\/team=a is not empty\.\n {2}→ .*; --overwrite replaces nothing but an export/),
    );
  });

  it('that is cut in the middle of a file sends it again', async () => {
    await using way = await aWayTo(storage);
    way.breakWrites(`${prefix}/month`, 'cut', 2);
    expect(await gmsiHere(command(), settingOf(envFor(way.endpoint)))).toMatchObject({ code: 0 });
    expect(way.broken).toBe(2);
    await expectWhole();
  });

  it('that cannot send a file says so, and the next one completes it', async () => {
    expect(await gmsiHere(command(), settingOf())).toMatchObject({ code: 0 });
    const before = await expectWhole();
    await revise('2024-01');
    await revise('2024-03');
    await using way = await aWayTo(storage);
    way.breakWrites(`${prefix}/month=2024-03`, 'cut');
    const failed = await gmsiHere(command('--changed-since'), settingOf(envFor(way.endpoint)));
    expect(failed).toMatchObject({ code: 1, stdout: '' });
    expect(failed.stderr).toMatch(
      /^gmsi: The storage at http:.* does not accept s3:.*\n {2}→ .*--changed-since.*\n$/,
    );
    const { manifest } = await held();
    expect(manifest.complete).toBe(false);
    expect(manifest.months.map(({ fingerprint }) => fingerprint)).toEqual([
      '',
      before.months[1]!.fingerprint,
      '',
    ]);
    const next = await gmsiHere(command('--changed-since', '--json'), settingOf());
    expect(JSON.parse(next.stdout)).toMatchObject({ written: { months: 2 } });
    await expectWhole();
  });

  it('that is killed before its first file is there is completed by the next one', async () => {
    await using way = await aWayTo(storage);
    way.breakWrites(`${prefix}/month`, 'hold');
    const running = startGmsi(command(), settingOf({ ...envFor(way.endpoint), TMPDIR: folder.path }));
    await vi.waitFor(() => expect(way.broken).toBeGreaterThan(0), 60_000);
    running.kill('SIGKILL');
    await running.ended;
    expect((await held()).manifest).toMatchObject({ complete: false });
    // The database may take a moment to see that the process is gone.
    await vi.waitFor(
      async () => expect(await gmsiHere(command('--changed-since'), settingOf())).toMatchObject({ code: 0 }),
      { timeout: 20_000, interval: 200 },
    );
    await expectWhole();
  });

  it('that is interrupted ends with 130, and leaves no temporary files', async () => {
    await using way = await aWayTo(storage);
    way.breakWrites(`${prefix}/month`, 'hold');
    const env = { ...envFor(way.endpoint), TMPDIR: folder.path };
    const running = startGmsi(command(), settingOf(env));
    await vi.waitFor(() => expect(way.broken).toBeGreaterThan(0), 60_000);
    running.kill('SIGINT');
    expect(await running.ended).toMatchObject({ code: 130, stdout: '' });
    expect(await readdir(folder.path)).toEqual([]);
  });
});

const secret = 'not-the-secret-0123456789';

/** What is wrong | target | variables | exit code | what is said | what to do. */
const mistakes = cases`
  a bucket that there is not | s3://nowhere/x |  | 2 | The storage at http:.* does not accept s3:\/\/nowhere\/x: NoSuchBucket
      | the bucket exists
  a wrong secret key |  | AWS_SECRET_ACCESS_KEY=${secret} | 2 | does not accept s3:.*: SignatureDoesNotMatch
      | AWS_SECRET_ACCESS_KEY
  an unknown key |  | AWS_ACCESS_KEY_ID=NOBODY & AWS_SECRET_ACCESS_KEY=${secret} | 2
      | does not accept s3:.*: InvalidAccessKeyId | AWS_ACCESS_KEY_ID
  no key |  | AWS_ACCESS_KEY_ID= & AWS_PROFILE=mine | 2 | There are no credentials for the export to s3:.*\.$
      | Set AWS_ACCESS_KEY_ID and .*aws configure export-credentials
  no region |  | AWS_ENDPOINT_URL_S3= | 2 | There is no region for the export to s3:.*\.$
      | Set AWS_REGION .* bucket exports
  a storage that does not answer |  | AWS_ENDPOINT_URL_S3=http://127.0.0.1:9 | 1
      | The storage at http:\/\/127.0.0.1:9 does not accept s3:.*: ECONNREFUSED | AWS_ENDPOINT_URL_S3
  an address with a password |  | AWS_ENDPOINT_URL_S3=http://me:${secret}@127.0.0.1 | 2
      | AWS_ENDPOINT_URL_S3 is not an https:\/\/ or http:\/\/ address | AWS_SECRET_ACCESS_KEY
  an address without a bucket | s3:// |  | 2 | s3:\/\/ address of the export is not that of a place | s3:\/\/bucket\/folder
`;

it.each(mistakes)('%s: says what and what to do, and no secret', async (_, target, set, code, what, hint) => {
  const env = Object.fromEntries(
    set!
      .split(' & ')
      .filter(Boolean)
      .map((one) => one.split('=') as [string, string]),
  );
  const out = target || `s3://exports/${prefix}`;
  const ended = await gmsiHere(['--verbose', 'export', '--out', out], settingOf({ ...storage.env, ...env }));
  expect(ended).toMatchObject({ code: Number(code), stdout: '' });
  expect(ended.stderr).not.toContain(secret);
  const lines = ended.stderr.split('\n');
  const at = lines.findIndex((line) => line.startsWith('gmsi: '));
  expect(lines[at]).toMatch(new RegExp(what!));
  expect(lines[at + 1]).toMatch(/^ {2}→ /);
  expect(lines[at + 1]).toMatch(new RegExp(hint!));
});
