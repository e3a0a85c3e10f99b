import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { json, text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

const fromHere = (path: string) => fileURLToPath(new URL(path, import.meta.url));
export const cli = fromHere('../dist/cli.js');
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
export async function run(
  args: readonly string[],
  env: Record<string, string>,
  cwd = process.cwd(),
): Promise<Ended> {
  const startedAt = performance.now();
  const child = spawn(process.execPath, ['--import', fromHere('report-usage.mjs'), ...args], {
    cwd,
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

/** A process that runs until it is disposed. */
export interface RunningProcess extends AsyncDisposable {
  /** The first line of its output. */
  said(): Promise<string>;
  /** What it has used so far, from Linux's /proc, because a killed process cannot say. @throws if it has ended */
  used(): Promise<Pick<Ended, 'cpuSeconds' | 'peakBytes'>>;
}

/** Starts a command of gmsi. Disposing kills it. */
export function start(
  args: readonly string[],
  env: Record<string, string>,
  cwd = process.cwd(),
): RunningProcess {
  const child = spawn(process.execPath, [cli, '--json', ...args], {
    cwd,
    env: { PATH: process.env.PATH, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  const proc = (name: string) => readFile(`/proc/${child.pid}/${name}`, 'utf8');
  return {
    said: async () => String((await once(child.stdout, 'data'))[0]),
    async used() {
      const fields = (await proc('stat')).replace(/^.*\) /s, '').split(' ');
      const [, kilobytes] = /^VmHWM:\s+(\d+)/m.exec(await proc('status')) ?? [];
      return {
        cpuSeconds: (Number(fields[11]) + Number(fields[12])) / 100,
        peakBytes: Number(kilobytes) * 1024,
      };
    },
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL');
      await exited;
    },
  };
}

export interface SandboxProcess extends AsyncDisposable {
  readonly url: string;
}

/** `gmsi sandbox`, in a process of its own, with many headlines a day, so that pages are full. */
export async function sandbox(options: object): Promise<SandboxProcess> {
  const asked = ['--options', JSON.stringify({ volume: 12, ...options })];
  const running = start(['sandbox', '--port', '0', '--key', key, ...asked], {});
  const { url } = JSON.parse(await running.said());
  return { url, [Symbol.asyncDispose]: running[Symbol.asyncDispose] };
}
