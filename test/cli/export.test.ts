import { execFile } from 'node:child_process';
import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { sql } from 'kysely';
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { setAsOfDelay } from '../support/as-of-delay.ts';
import { cases } from '../support/cases.ts';
import { aSandboxForAll, aWarehouseForAll } from '../support/for-all.ts';
import { accessTo, aFolder, type Folder, program, type Setting, says, startGmsi } from './gmsi.ts';
import { gmsiHere } from './in-process.ts';
import { jobFor, quarter } from './jobs.ts';

const sandbox = await aSandboxForAll({ limits: null, volume: 0.1 });
const warehouse = await aWarehouseForAll();
let folder: Folder;
let setting: Setting;

beforeAll(async () => {
  await using first = await aFolder();
  const job = await first.write('job.yaml', jobFor(quarter));
  const env = accessTo(warehouse, sandbox);
  expect(await gmsiHere(['backfill', job], { cwd: first.path, env })).toMatchObject({ code: 0 });
});
beforeEach(async () => {
  folder = await aFolder();
  setting = { cwd: folder.path, env: { DATABASE_URL: warehouse.url } };
  await folder.write('jobs/us.yaml', jobFor({ ...quarter, countries: ['US'] }));
  const oil = { feed: 'ticker-headlines', tickers: ['BZ_COM'], start_date: '2026-09-01' };
  await folder.write('jobs/oil.yaml', oil);
});
afterEach(() => folder[Symbol.asyncDispose]());

async function rowsWhere(condition: string): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*) from gmsi.headlines where ${sql.raw(condition)}`.execute(warehouse.db);
  return rows[0]!.count;
}

describe('gmsi export', () => {
  it('writes all headlines without a request, and says what it has written and where', async () => {
    const { code, stdout } = await gmsiHere(['export'], setting);
    expect(code).toBe(0);
    const rows = (await rowsWhere('true')).toLocaleString('en-US');
    expect(stdout).toMatch(new RegExp(`^rows +${rows}$`, 'm'));
    expect(stdout).toMatch(/^countries +2$/m);
    expect(stdout).toMatch(/^files +\d+ parquet, [\d.]+ MB$/m);
    expect(stdout).toContain(join(folder.path, 'export', 'gmsi-headlines'));
    expect(await readdir(join(folder.path, 'export', 'gmsi-headlines'))).toEqual(
      expect.arrayContaining(['_manifest.json', 'month=2024-01']),
    );
  });

  it('writes one file for Excel, and replaces nothing unless told to', async () => {
    const excel = ['export', '--excel'];
    const { code, stdout } = await gmsiHere(excel, setting);
    const out = join(folder.path, 'export', 'gmsi-headlines.csv');
    expect({ code, stdout }).toMatchObject({ code: 0, stdout: expect.stringContaining(out) });
    expect(stdout).toMatch(/^formulas +escaped: /m);
    expect(stdout).toMatch(/^files +1 CSV for Excel, [\d.]+ MB$/m);
    expect(await gmsiHere(excel, setting)).toMatchObject(
      says(2, /file export\/gmsi-headlines.csv already exists\.\n {2}→ .*--out, or add --overwrite/),
    );
    const onlyUs = await gmsiHere([...excel, '--country', 'US', '--overwrite'], setting);
    expect(onlyUs).toMatchObject({ code: 0 });
    const lines = (await readFile(out, 'utf8')).split('\n').filter((line) => /^[0-9a-f-]{36},/.test(line));
    expect(lines).toHaveLength(await rowsWhere(`country = 'US'`));
    expect(await readdir(join(folder.path, 'export'))).toEqual(['gmsi-headlines.csv']);
  });

  it('writes what a job loads, by default its period; --json is for programs', async () => {
    const run = ['export', 'us', '--format', 'csv', '--to', '2024-01-31', '--out', 'there', '--json'];
    const { code, stdout } = await gmsiHere(run, setting);
    expect(code).toBe(0);
    const rows = await rowsWhere(`country = 'US' and published_at between '2024-01-01Z' and '2024-02-01Z'`);
    expect(JSON.parse(stdout)).toMatchObject({
      out: join(folder.path, 'there'),
      table: 'gmsi.headlines',
      format: 'csv',
      as_of: null,
      from: '2024-01-01',
      to: '2024-01-31',
      rows,
      files: 1,
      months: 1,
      complete: true,
    });
    expect(await readdir(join(folder.path, 'there', 'month=2024-01'))).toEqual(['part-0.csv']);
  });

  it('continues an export, or begins one with what a load has changed', async () => {
    const { rows } = await sql<{ load_id: number }>`select min(load_id) as load_id from gmsi.loads`.execute(
      warehouse.db,
    );
    const since = ['export', '--out', 'delta', '--changed-since', String(rows[0]!.load_id), '--json'];
    const { stdout } = await gmsiHere(since, setting);
    const delta = JSON.parse(stdout);
    expect(delta.rows).toBe(await rowsWhere('true'));
    expect(delta).toMatchObject({ changed_since: expect.any(String), written: { rows: delta.rows } });
    expect(await gmsiHere(['export', '--out', 'whole', '--changed-since'], setting)).toMatchObject({
      code: 0,
    });
    const again = await gmsiHere(['export', '--out', 'whole', '--changed-since'], setting);
    expect(again.stdout).toMatch(/^written +0 months, 0 rows; the others have not changed$/m);
    expect(again.stdout).not.toMatch(/^changed /m);
    await sql`update gmsi.headlines set changed_at = changed_at + interval '1 second'
              where published_at < '2024-02-01Z' and country = 'US'`.execute(warehouse.db);
    const json = JSON.parse(
      (await gmsiHere(['export', '--out', 'whole', '--changed-since', '--json'], setting)).stdout,
    );
    const before = { rows: expect.any(Number), bytes: expect.any(Number), sha256: expect.any(String) };
    expect(json.changed).toEqual([{ path: 'month=2024-01/part-0.parquet', before }]);
    const versions = JSON.parse((await gmsiHere(['export', '--versions', '--json'], setting)).stdout);
    expect(versions).toMatchObject({
      out: join(folder.path, 'export', 'gmsi-headlines-versions'),
      versions: true,
    });
    expect(versions.rows).toBeGreaterThan(json.rows);
  });

  it('of days without headlines says so, makes no folder, and is no failure', async () => {
    const { code, stdout } = await gmsiHere(['export', '--from', '2030-01-01'], setting);
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: 'Nothing to export: gmsi.headlines has no rows for 2030-01-01 to the last day.\n',
    });
    expect(await readdir(folder.path)).toEqual(['jobs']);
  });

  it('is interrupted with 130, also while the database is slow, and leaves nothing', async () => {
    // The count waits for this until it is given up.
    const lock = await warehouse.db.startTransaction().execute();
    await sql`lock gmsi.headlines in access exclusive mode`.execute(lock);
    const running = startGmsi(['export', '--out', 'there'], setting);
    const waiting = sql`select from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock' and query like '%count(*)%'`;
    try {
      await vi.waitFor(
        async () => expect((await waiting.execute(warehouse.db)).rows).toHaveLength(1),
        90_000,
      );
      expect((await readdir(folder.path)).join()).toContain('there.partial-');
    } finally {
      running.kill('SIGINT');
    }
    const ended = await running.ended;
    await lock.rollback().execute();
    expect(ended).toMatchObject(says(130, 'gmsi: interrupted'));
    expect(await readdir(folder.path)).toEqual(['jobs']);
  });

  it('that runs out of room says so in one line, and leaves nothing', async () => {
    // No disk has to be filled: files may not get longer than this.
    const script = 'ulimit -f 4; exec "$0" "$@"';
    const args = ['-c', script, process.execPath, program, 'export', '--out', 'there'];
    const env = { ...setting.env, PATH: process.env.PATH, HOME: folder.path };
    const ended = await new Promise<{ code: unknown; stderr: string }>((resolve) =>
      execFile('sh', args, { cwd: folder.path, env }, (error, _, stderr) =>
        resolve({ code: error?.code, stderr }),
      ),
    );
    expect(ended.code).toBe(1);
    expect(ended.stderr).toMatch(
      /^gmsi: The export could not be written: .*\n {2}→ Is the disk full\? .*--out.*\n$/,
    );
    expect(await readdir(folder.path)).toEqual(['jobs']);
  });
});

/** What is wrong | options | what is said | what to do. */
const mistakes = cases`
  days the wrong way round | --from 2025-02-01 --to 2025-01-31 | --from 2025-02-01 is after --to 2025-01-31 | Swap them
  a moment without a time zone | --as-of 2025-06-30T12:00:00 | --as-of "2025-06-30T12:00:00" is not valid | 2025-06-30T12:00:00Z
  a moment in the future | --as-of 2999-01-01T00:00:00Z | in the future | without --as-of
  the name of no moment | --as-of papr-2026 | No moment is named papr-2026 | gmsi snapshot
  a country that the service does not list | --country us | --country is "us" | Did you mean "US"\?
  a topic that the service does not list | --topic Inflation-Fod | --topic is "Inflation-Fod" | Did you mean "Inflation-Food"\?
  a country besides a job | us --country US | cannot be used with a job | The job
  a load that there is not | --changed-since 999999 | there is no load 999999 | gmsi status
  neither a load nor a moment | --changed-since yesterday | --changed-since "yesterday" is not valid
      | 2025-06-30T12:00:00Z, or the number of a load
  to continue and to replace | --changed-since --overwrite | '--changed-since .*' cannot be used with option '--overwrite'
      | --help
  versions of a rollup | --rollup daily --versions | '--versions' cannot be used with option '--rollup | --help
  versions as of a moment | --versions --as-of 2025-06-30T12:00:00Z | '--versions' cannot be used with option '--as-of | --help
  rollups since a moment | --rollup daily --changed-since 2025-06-30T12:00:00Z | and --rollup cannot | Without a value
  rollups of a feed without | oil --rollup daily | no rollups of ticker-headlines | drop --rollup
  a folder that cannot be | --out jobs/us.yaml/export | jobs\/us\.yaml\/export cannot be written: not a directory | --out
`;

it('refuses a moment for which the answer may still change, and says for how long', async () => {
  await setAsOfDelay(warehouse.db, 3_600_000);
  const { rows } = await sql<{ now: string }>`
    select to_char(now() at time zone 'UTC' - interval '1 s', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as now`.execute(
    warehouse.db,
  );
  const { code, stdout, stderr } = await gmsiHere(['export', '--as-of', rows[0]!.now], setting);
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).toMatch(
    /the state at that moment can still change for 3[45]\d\d s\.\n {2}→ Wait 3[45]\d\d s/,
  );
  await setAsOfDelay(warehouse.db, 10_000);
  expect(await readdir(folder.path)).toEqual(['jobs']);
});

it('exports the state at a moment by its name, to the microsecond', async () => {
  const { code: named } = await gmsiHere(
    ['snapshot', 'paper-2026', '--at', '2025-06-30T12:00:00.123456Z'],
    setting,
  );
  expect(named).toBe(0);
  const out = join(folder.path, 'as-of');
  const { code, stdout } = await gmsiHere(
    ['export', '--as-of', 'paper-2026', '--out', out, '--json'],
    setting,
  );
  expect(code).toBe(0);
  expect(JSON.parse(stdout).as_of).toBe('2025-06-30T12:00:00.123456Z');
  await gmsiHere(['snapshot', 'paper-2026', '--remove'], setting);
  await rm(out, { recursive: true, force: true });
});

it.each(mistakes)('%s: says what and what to do, and exits with 2', async (_, options, isWrong, isToDo) => {
  const { code, stdout, stderr } = await gmsiHere(['export', ...options!.split(' ')], setting);
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  const [what = '', hint = '', ...more] = stderr.trimEnd().split('\n');
  expect(more).toEqual([]);
  expect(what).toMatch(new RegExp(isWrong!));
  expect(hint).toMatch(/^ {2}→ /);
  expect(hint).toMatch(new RegExp(isToDo!));
  expect(await readdir(folder.path)).toEqual(['jobs']);
});
