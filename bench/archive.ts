import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import pg from 'pg';
import { TOPICS } from '../packages/sandbox/src/world/topics.ts';
import { print } from '../src/terminal/print.ts';
import { table } from '../src/terminal/table.ts';
import { cli, type Ended, run, sandbox, start } from './processes.ts';
import type { BenchServer } from './server.ts';
import { megabytes, thousands, type Verdict } from './statistics.ts';

/** Multiplies the sandbox's news: about half a million records, and five million. */
export const volumes = { small: 0.33, whole: 5.5 } as const;
const most = { bytes: 250e6, growth: 1.15 };
/** The archives end three days before the jobs, so that a sync has something to load. */
const days = { from: '2025-01-01', to: '2025-12-28' };
const countries = ['US', 'GB'];
const topics = TOPICS.slice(0, 20).map(({ name }) => name);
const tickers = ['BZ_COM', 'CL_COM', 'GC_COM', 'NG_COM'];
/** A year each: 40 of headlines, 80 of their index, 8 of headlines of assets, 72 of their index. */
const files = 200;
const job = (feed: string, match_type: string, of: object) => ({
  ...{ feed, match_type, ...of, start_date: days.from, end_date: '2025-12-31' },
  service: { rate: 'unlimited', end_date: 'inclusive' },
});
/** Every series of the files. */
const jobs = [
  job('gmsi-headlines', 'COMBINED', { countries, topics }),
  job('gmsi-index', 'COMBINED', { countries, topics }),
  ...['EXPLICIT', 'IMPLICIT'].map((type) => job('ticker-headlines', type, { tickers })),
  ...['COMBINED', 'EXPLICIT', 'IMPLICIT'].map((type) => job('ticker-index', type, { tickers })),
];
const jobNames = jobs.map((_, at) => `bench-${at}`);
/** What the page asks for when it is opened (packages/page/src/views/today). */
const firstView = 'origin feeds jobs failures checks fields alerts arrival loads requests'.split(' ');

/** A year of four feeds, for each volume of news: import, killed in the middle; import again; sync; status; page. */
export async function benchArchive(server: BenchServer, asked: readonly number[]): Promise<Verdict[]> {
  const verdicts: Verdict[] = [];
  const peaks: number[] = [];
  for (const volume of asked) {
    const options = {
      limits: null,
      tickerHistoryLimitDays: null,
      volume,
      archive: { countries, topics, tickers, ...days },
    };
    const archives = await writtenArchives(JSON.stringify(options));
    await using service = await sandbox(options);
    const peak = await server.inWarehouse((url) => measure(server, url, service.url, archives));
    verdicts.push({
      goal: `peak memory of an import of ${thousands(archives.records)} records: at most ${megabytes(most.bytes)}`,
      measured: megabytes(peak),
      met: peak <= most.bytes,
    });
    peaks.push(peak);
  }
  if (peaks.length < 2) return verdicts;
  const growth = peaks.at(-1)! / peaks[0]!;
  return [
    ...verdicts,
    {
      goal: `peak memory of five million records, of half a million: at most ${most.growth}`,
      measured: growth.toFixed(2),
      met: growth <= most.growth,
    },
  ];
}

interface Archives {
  readonly paths: readonly string[];
  readonly records: number;
}

/** Writes the archives, unless an earlier run with the same sandbox and options has kept them. */
async function writtenArchives(options: string): Promise<Archives> {
  const hash = createHash('sha256').update(options);
  const sandbox = new URL('../packages/sandbox/src/', import.meta.url);
  for (const file of (await readdir(sandbox, { recursive: true })).toSorted())
    if (file.endsWith('.ts')) hash.update(await readFile(new URL(file, sandbox)));
  const version = hash.digest('hex').slice(0, 12);
  const folder = join(tmpdir(), `gmsi-bench-archives-${version}`);
  const list = join(folder, 'archives.json');
  let text = await readFile(list, 'utf8').catch(() => '');
  if (!text) {
    await rm(folder, { recursive: true, force: true });
    const args = ['--json', '--quiet', 'sandbox', '--archive', folder, '--options', options];
    const ended = await run([cli, ...args], {});
    if (ended.code !== 0) throw new Error(`gmsi sandbox ended with ${ended.code}`);
    text = ended.stdout;
    await writeFile(list, text);
  }
  const all: { path: string; files: number; records: number }[] = JSON.parse(text).archives;
  // The sandbox also writes the regional macro index, which would be a fifth feed.
  const four = all.filter(({ path }) => !path.includes('macro_geopolitical_sentiment'));
  const records = four.reduce((sum, one) => sum + one.records, 0);
  const written = four.reduce((sum, one) => sum + one.files, 0);
  equal(written, files, 'files');
  console.log(`${thousands(records)} records in ${files} files, kept in ${folder}`);
  return { paths: four.map(({ path }) => path), records };
}

type Used = Pick<Ended, 'seconds' | 'cpuSeconds' | 'peakBytes'>;

/** Prints what each step took. @returns the peak memory of the import */
async function measure(
  server: BenchServer,
  url: string,
  service: string,
  { paths, records }: Archives,
): Promise<number> {
  const folder = await mkdtemp(join(tmpdir(), 'gmsi-bench-archive-'));
  const env = { DATABASE_URL: url, GMSI_BASE_URL: service, LOG_LEVEL: 'error' };
  const importing = ['import', ...paths, '--from', days.from, '--to', days.to];
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const loaded = async (): Promise<Loaded> => (await client.query<Loaded>(loadedSql)).rows[0]!;
  const gmsi = async (...args: readonly string[]) => {
    const ended = await run([cli, '--json', '--quiet', ...args], env, folder);
    if (ended.code !== 0) throw new Error(`gmsi ${args[0]} ended with ${ended.code}: ${ended.stdout}`);
    return { ...ended, said: JSON.parse(ended.stdout) };
  };
  const steps: string[][] = [];
  async function step<Did extends Used>(
    name: string,
    run: () => Promise<Did>,
    note: (did: Did) => string = () => '',
  ): Promise<Did> {
    const before = await server.cpuSeconds();
    const did = await run();
    const times = [did.seconds, did.cpuSeconds, (await server.cpuSeconds()) - before];
    steps.push([name, ...times.map(seconds), megabytes(did.peakBytes), note(did)]);
    return did;
  }
  async function killHalfway() {
    const since = performance.now();
    await using process = start(['--quiet', ...importing], env);
    let used = await process.used();
    while ((await loaded()).records < records / 2) {
      await setTimeout(100);
      used = await process.used();
    }
    const took = { ...used, seconds: secondsSince(since) };
    await process[Symbol.asyncDispose]();
    // The server may still commit what it was sent last.
    while ((await client.query(otherClients)).rowCount! > 0) await setTimeout(50);
    return { ...took, ...(await loaded()) };
  }
  try {
    await mkdir(join(folder, 'jobs'));
    for (const [at, job] of jobs.entries())
      await writeFile(join(folder, 'jobs', `${jobNames[at]}.yaml`), JSON.stringify(job));

    const killed = await step(
      'import, until it is killed',
      killHalfway,
      (it) => `${thousands(it.records)} records; ${it.finished} files are whole`,
    );
    const resumed = await step(
      'import, run again',
      () => gmsi(...importing),
      ({ said }) =>
        `${thousands(sumOf(said.loads, 'records'))} records; ${thousands(killed.unfinished)} of before are read again, none is written again`,
    );
    const all = await loaded();
    const { rows } = await client.query(rowsSql);
    equal(killed.records + sumOf(resumed.said.loads, 'records'), records, 'records of both imports');
    equal(all.inserted, records, 'inserted rows');
    equal(all.changed, 0, 'changed rows');
    equal(Number(rows[0].count), records, 'rows');
    const again = await step('import of the same files', () => gmsi(...importing));
    equal(again.said.loaded_before, files, 'files loaded before');
    await step(
      'sync',
      () => gmsi('sync', ...jobNames),
      ({ said }) =>
        `${thousands(sumOf(said.jobs, 'records'))} records, ${thousands(sumOf(said.jobs, 'requests'))} requests`,
    );
    await step('status', () => gmsi('status', ...jobNames));
    await step(
      'page',
      () => openPage(env, folder),
      ({ slowest }) => `first view; its slowest answer (${slowest.path}) took ${seconds(slowest.seconds)}`,
    );
    const head = ['step', 'time', 'CPU of gmsi', 'CPU of PostgreSQL', 'peak memory', ''];
    print(`${table(head, steps)}\n`);
    return Math.max(killed.peakBytes, resumed.peakBytes);
  } finally {
    await client.end();
    await rm(folder, { recursive: true });
  }
}

type Loaded = Readonly<Record<'records' | 'finished' | 'unfinished' | 'inserted' | 'changed', number>>;
const loadedSql = `
  select coalesce(sum(records), 0)::float as records, count(finished_at)::float as finished,
         coalesce(sum(records) filter (where finished_at is null), 0)::float as unfinished,
         coalesce(sum(rows_inserted), 0)::float as inserted, coalesce(sum(rows_changed), 0)::float as changed
  from gmsi.imported_files`;
const rowsSql = `
  select (select count(*) from gmsi.headlines) + (select count(*) from gmsi.gmsi_index)
       + (select count(*) from gmsi.ticker_headlines) + (select count(*) from gmsi.ticker_index) as count`;
const otherClients = `
  select from pg_stat_activity
  where datname = current_database() and backend_type = 'client backend' and pid <> pg_backend_pid()`;

/** Starts `gmsi serve` and asks as the page does when it is opened: for the state of the warehouse, then for the rest. */
async function openPage(env: Record<string, string>, cwd: string) {
  const since = performance.now();
  await using process = start(['serve', '--port', '0'], env, cwd);
  const { url } = JSON.parse(await process.said());
  const states = (await fetch(`${url}/api/live`)).body!.getReader();
  await states.read();
  const askedAt = performance.now();
  const ask = async (path: string) => {
    const response = await fetch(`${url}/api/${path}`);
    equal(response.status, 200, `for ${path}: ${await response.text()}`);
    return { path, seconds: secondsSince(askedAt) };
  };
  const answers = await Promise.all(firstView.map(ask));
  const slowest = answers.reduce((one, other) => (other.seconds > one.seconds ? other : one));
  const used = { ...(await process.used()), seconds: secondsSince(since), slowest };
  await states.cancel();
  return used;
}

function sumOf(loads: readonly { totals: Record<string, number> }[], name: string): number {
  return loads.reduce((sum, { totals }) => sum + totals[name]!, 0);
}

function equal(found: number, wanted: number, what: string): void {
  if (found !== wanted) throw new Error(`${found} ${what}, instead of ${wanted}`);
}

function secondsSince(at: number): number {
  return (performance.now() - at) / 1000;
}

function seconds(value: number): string {
  return `${value.toFixed(1)} s`;
}
