import { beforeAll, expect, it, onTestFinished, vi } from 'vitest';
import { type ProgressView, showProgress } from '../../src/terminal/progress.ts';
import { aLog } from '../support/a-log.ts';
import { aFolder, prints, says, startGmsi } from './gmsi.ts';
import { gmsiHere } from './in-process.ts';
import { january, jobFor } from './jobs.ts';
import { aPlaceForAll } from './place.ts';

const { folder, sandbox, setting } = await aPlaceForAll({ volume: 0.1 });

beforeAll(async () => {
  await folder.write('jobs/job.yaml', jobFor(january));
  expect(await gmsiHere(['backfill', 'job'], setting)).toMatchObject({ code: 0 });
});

it.each([
  'plan job',
  'backfill job',
  'backfill job --full-refresh',
  'backfill job --enqueue',
  'sync job',
  'check job',
  'check --repair records --dry-run',
  'status --days',
  'status job',
  'status',
  'lookups',
  'migrate',
  'migrate status',
  'doctor',
])('prints one JSON document with --json and nothing else: gmsi %s', async (command) => {
  const { code, stdout, stderr } = await gmsiHere([...command.split(' '), '--json'], setting);
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toBeTypeOf('object');
  expect(stdout.match(/"[a-z]+[A-Z]\w*":/g)).toBeNull();
  for (const line of stderr.split('\n').filter((text) => text !== '')) JSON.parse(line);
});

it('logs with the number of a load what belongs to it, also its requests and their retries', async () => {
  sandbox.script([{ kind: 'server-error', times: 1 }]);
  const env = { ...setting.env, LOG_LEVEL: 'trace' };
  const { stdout, stderr } = await gmsiHere(['backfill', 'job', '--full-refresh', '--json'], {
    ...setting,
    env,
  });
  const { load_id } = JSON.parse(stdout).jobs[0];
  const lines = stderr.split('\n').filter((line) => /"path":"[^"]*(US|NO)"|"window":/.test(line));
  expect(lines.filter((line) => line.includes('"msg":"answered"')).length).toBeGreaterThan(3);
  expect(lines.join('\n')).toContain('Try 2 follows');
  for (const line of lines)
    expect(line.match(/"(load|job)":[^,]*/g)).toEqual(['"job":"job"', `"load":${load_id}`]);
});

it('prints the address of a sandbox as one line of JSON with --json', async () => {
  const running = startGmsi(['sandbox', '--port', '0', '--json'], { cwd: folder.path });
  await vi.waitFor(() => expect(running.stdout).toContain('\n'), 90_000);
  const { url, keys } = JSON.parse(running.stdout);
  const answer = await fetch(`${url}/v1/countries`, { headers: { 'x-api-key': keys[0] } });
  expect(answer.status).toBe(200);
  running.kill('SIGTERM');
  expect(await running.ended).toMatchObject({ code: 0 });
});

it('prints the reason of a failure to standard error and, with --json, to standard output as JSON', async () => {
  const { stdout, stderr } = await gmsiHere(['backfill', 'nosuch'], setting);
  expect(stdout).toBe('');
  expect(stderr).toContain('no job file nosuch');
  const asJson = await gmsiHere(['backfill', 'nosuch', '--json'], setting);
  expect(JSON.parse(asJson.stdout)).toEqual({
    error: {
      message: expect.stringContaining('no job file nosuch'),
      hint: 'Known names: job.',
      exit_code: 2,
    },
  });
  const misused = await gmsiHere(['backfil', '--json'], setting);
  expect(JSON.parse(misused.stdout)).toMatchObject({
    error: { message: expect.stringContaining('Did you mean backfill?'), exit_code: 2 },
  });
});

it('validates job files without a warehouse or a key', async () => {
  await using other = await aFolder();
  const run = (...args: string[]) => gmsiHere(['plan', '--offline', ...args], { cwd: other.path, env: {} });
  expect(await run()).toMatchObject(says(2, 'no job file'));
  await other.write('jobs/good.yaml', jobFor(january));
  expect(await run()).toMatchObject(prints(0, /1 job file valid, 0 broken\nNot checked: .*\n$/));
  await other.write('jobs/typo.yaml', 'feed: gmsi-headlines\ncontries: [US]\n');
  const { code, stdout } = await run('--json');
  expect(code).toBe(2);
  expect(JSON.parse(stdout)).toMatchObject({
    valid: ['jobs/good.yaml'],
    broken: [{ path: 'jobs/typo.yaml', message: expect.stringContaining('did you mean "countries"') }],
  });
  expect(await run('good')).toMatchObject({ code: 0 });
});

it('prints completion scripts that may be sourced twice, and completes the names of jobs', async () => {
  const { stdout } = await gmsiHere(['completion', 'bash'], setting);
  expect(stdout).toMatch(/^# bash completion for gmsi/);
  expect(stdout).not.toMatch(/^readonly/m);
  expect((await gmsiHere(['complete', '--', 'status', ''], setting)).stdout).toMatch(/^job\t/m);
});

it('names the job in what it logs of single requests', async () => {
  sandbox.script([{ kind: 'server-error', status: 503, times: 1 }]);
  const env = { ...setting.env, LOG_LEVEL: 'debug' };
  const { stderr } = await gmsiHere(['backfill', 'job', '--full-refresh'], { ...setting, env });
  const lines = stderr.split('\n').filter((line) => line.startsWith('{'));
  const tries = lines.map((line) => JSON.parse(line)).filter(({ msg }) => /Try 2 follows/.test(msg));
  expect(tries).toMatchObject([{ job: 'job', path: expect.any(String) }]);
});

it('logs its progress every few seconds if there is no terminal, and not with --quiet', () => {
  const { log, lines } = aLog();
  const totals = { records: 1_200, requests: 3, windows_failed: 0 };
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  for (const [view, said] of Object.entries({ lines: 2, none: 0 })) {
    lines.length = 0;
    const shown = showProgress('job', () => ({ totals, done: 3, all: 12 }), log, view as ProgressView);
    vi.advanceTimersByTime(10_000);
    shown[Symbol.dispose]();
    vi.advanceTimersByTime(60_000);
    expect(lines).toHaveLength(said);
    for (const { msg } of lines) expect(msg).toMatch(/^job: 3 of 12 windows, .* left, 1,200 records, /);
  }
});

it.each([
  ['--help', 0, /backfill/, /^$/],
  ['backfill --help', 0, /--full-refresh/, /^$/],
  ['--version', 0, /^\d+\.\d+\.\d+\n$/, /^$/],
  ['', 2, /^$/, /Usage: gmsi/],
])(
  'gmsi %s ends with %i, and prints help to standard output, or to standard error if it was not asked for',
  async (typed, code, out, err) => {
    const args = typed.split(' ').filter(Boolean);
    const printed = { stdout: expect.stringMatching(out), stderr: expect.stringMatching(err) };
    expect(await gmsiHere(args, setting)).toMatchObject({ code, ...printed });
  },
);
