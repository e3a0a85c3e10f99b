import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { json, text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

const fromHere = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const cli = fromHere('../dist/cli.js');
const key = 'bench-key';

/** What a process did and used, from its start to its end. */
export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly seconds: number;
  /** Of the process alone, not of the service or the database. */
  readonly cpuSeconds: number;
  readonly peakBytes: number;
}

/** Runs a built program to its end. */
export async function run(args: readonly string[], env: Record<string, string>): Promise<Ended> {
  const startedAt = performance.now();
  const child = spawn(process.execPath, ['--import', fromHere('report-usage.mjs'), ...args], {
    env: { PATH: process.env.PATH, GMSI_API_KEY: key, ...env },
    stdio: ['ignore', 'pipe', 'inherit', 'pipe'],
  });
  const [[code], stdout, usage] = await Promise.all([
    once(child, 'exit') as Promise<[number | null]>,
    text(child.stdout!),
    json(child.stdio[3] as NodeJS.ReadableStream) as Promise<NodeJS.ResourceUsage>,
  ]);
  return {
    code,
    stdout,
    seconds: (performance.now() - startedAt) / 1000,
    cpuSeconds: (usage.userCPUTime + usage.systemCPUTime) / 1e6,
    peakBytes: usage.maxRSS * 1024,
  };
}

/** What a service and a warehouse are to one run. */
export interface Addresses {
  readonly service: string;
  readonly warehouse: string;
}

export interface LoadedJob extends Ended {
  readonly records: number;
  readonly pages: number;
  readonly windows: number;
}

/** `gmsi backfill` of a job, in a process of its own. */
export async function backfill(job: object, addresses: Addresses, expectedCode = 0): Promise<LoadedJob> {
  const ended = await gmsi('backfill', job, addresses, expectedCode);
  const { records, pages, windows_drained: windows } = JSON.parse(ended.stdout).jobs[0].totals;
  return { ...ended, records, pages, windows };
}

/** `gmsi import` of files. */
export async function importFiles(
  args: readonly string[],
  warehouse: string,
): Promise<Ended & { records: number }> {
  const ended = await run([cli, '--json', '--quiet', 'import', ...args], {
    DATABASE_URL: warehouse,
    LOG_LEVEL: 'error',
  });
  if (ended.code !== 0) throw new Error(`gmsi import ended with ${ended.code}: ${ended.stdout}`);
  const loads: { totals: { records: number } }[] = JSON.parse(ended.stdout).loads;
  return { ...ended, records: loads.reduce((sum, { totals }) => sum + totals.records, 0) };
}

/** `gmsi plan` of a job. */
export function plan(job: object, addresses: Addresses): Promise<Ended> {
  return gmsi('plan', job, addresses, 0);
}

async function gmsi(
  command: string,
  job: object,
  { service, warehouse }: Addresses,
  expectedCode: number,
): Promise<Ended> {
  const folder = await mkdtemp(join(tmpdir(), 'gmsi-bench-job-'));
  const file = join(folder, 'bench.yaml');
  await writeFile(file, JSON.stringify({ feed: 'gmsi-headlines', ...job }));
  const env = { GMSI_BASE_URL: service, DATABASE_URL: warehouse, LOG_LEVEL: 'error' };
  const ended = await run([cli, '--json', '--quiet', command, file], env);
  await rm(folder, { recursive: true });
  if (ended.code !== expectedCode) throw new Error(`gmsi ended with ${ended.code}: ${ended.stdout}`);
  return ended;
}

/** The script that somebody writes in an afternoon; see afternoons-script.mjs. */
export async function afternoonsScript(
  windows: object,
  { service, warehouse }: Addresses,
): Promise<Ended & { records: number }> {
  const ended = await run(
    [fromHere('afternoons-script.mjs'), service, warehouse, JSON.stringify(windows)],
    {},
  );
  if (ended.code !== 0) throw new Error(`the script ended with ${ended.code}`);
  return { ...ended, records: Number(ended.stdout) };
}

/** A pipeline of dlt; see dlt-pipeline.py. */
export async function dltPipeline(
  windows: object,
  { service, warehouse }: Addresses,
): Promise<{ seconds: number; records: number }> {
  const startedAt = performance.now();
  const args = [fromHere('dlt-pipeline.py'), service, warehouse, JSON.stringify(windows)];
  const child = spawn('python3', args, {
    env: { PATH: process.env.PATH, GMSI_API_KEY: key, RUNTIME__DLTHUB_TELEMETRY: 'false' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [[code], stdout] = await Promise.all([once(child, 'exit'), text(child.stdout)]);
  if (code !== 0) throw new Error(`dlt ended with ${code}; pip install "dlt[postgres]" brings it`);
  return { seconds: (performance.now() - startedAt) / 1000, records: Number(stdout) };
}

export interface SandboxProcess extends AsyncDisposable {
  readonly url: string;
}

/** `gmsi sandbox`, in a process of its own, with many headlines a day, so that pages are full. */
export async function sandbox(options: object): Promise<SandboxProcess> {
  const args = ['--json', 'sandbox', '--port', '0', '--key', key];
  const asked = ['--options', JSON.stringify({ volume: 12, ...options })];
  const child = spawn(process.execPath, [cli, ...args, ...asked], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = await once(child.stdout!, 'data');
  return {
    url: JSON.parse(String(line)).url,
    [Symbol.asyncDispose]: () => end(child),
  };
}

async function end(child: ChildProcess): Promise<void> {
  // It has nothing to finish.
  child.kill('SIGKILL');
  await once(child, 'exit');
}
