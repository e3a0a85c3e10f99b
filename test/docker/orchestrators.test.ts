import { execFile, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { exitCodes } from '../../src/exit.ts';

const run = promisify(execFile);
const python = '/usr/bin/python3';
const path = (name: string) => new URL(name, import.meta.url).pathname;
const examples = {
  airflow: path('../../docs/deploying/airflow/gmsi_dag.py'),
  dagster: path('../../docs/deploying/dagster/gmsi_assets.py'),
};

let folder: string;

/**
 * Writes a gmsi that notes its arguments and folder, and ends with the code that the environment names; or that waits for SIGTERM,
 * and then ends with the one code that is not retried.
 */
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gmsi-orchestrators-'));
  const gmsi = `#!/bin/sh
echo "$* in $PWD" >>"${folder}/calls"
if [ "$SYNC" = wait ]; then
  trap 'echo "stopped by SIGTERM" >>"${folder}/calls"; exit ${exitCodes.doNotRetry}' TERM
  touch "${folder}/ready"
  while [ -e "${folder}/ready" ]; do sleep 0.05; done
fi
case $1 in sync) exit "$SYNC";; check) exit "$CHECK";; esac
`;
  writeFileSync(join(folder, 'gmsi'), gmsi, { mode: 0o755 });
});

afterEach(() => rmSync(folder, { recursive: true }));

const calls = () => readFileSync(join(folder, 'calls'), 'utf8').trim().split('\n');

/** How the tasks of an example end, and after how many attempts, if gmsi ends with these codes. */
async function ends(name: keyof typeof examples, codes: Readonly<Record<string, string | number>>) {
  const variables = Object.entries(codes).map(([variable, code]) => [variable, String(code)]);
  const env = {
    PATH: `${folder}${delimiter}${process.env.PATH}`,
    PYTHONDONTWRITEBYTECODE: '1',
    ...Object.fromEntries(variables),
  };
  const runner = path(`orchestrators/run_${name}.py`);
  return JSON.parse((await run(python, [runner, examples[name], folder], { env, timeout: 30_000 })).stdout);
}

const { done, incomplete, doNotRetry, budget, interrupted } = exitCodes;

describe.skipIf(spawnSync(python, ['--version']).status !== 0)('with /usr/bin/python3', () => {
  test.each([
    { code: done, sync: ['success', 1], check: ['success', 1] },
    { code: incomplete, sync: ['failed', 3], check: ['upstream_failed', 0] },
    { code: doNotRetry, sync: ['failed', 1], check: ['upstream_failed', 0] },
    { code: budget, sync: ['skipped', 1], check: ['skipped', 0] },
    { code: interrupted, sync: ['failed', 3], check: ['upstream_failed', 0] },
  ])('in Airflow, a sync that ends with $code is $sync', async ({ code, sync, check }) => {
    expect(await ends('airflow', { SYNC: code, CHECK: done })).toEqual({
      'sync-g7-inflation': sync,
      'check-g7-inflation': check,
    });
  });

  test.each([
    { code: done, sync: ['materialized', 1], check: ['passed', 1] },
    { code: incomplete, sync: ['failed', 3] },
    { code: doNotRetry, sync: ['failed', 1] },
    { code: budget, sync: ['not materialized', 1] },
    { code: interrupted, sync: ['failed', 3] },
  ])('in Dagster, a sync that ends with $code is $sync', async ({ code, sync, check }) => {
    expect(await ends('dagster', { SYNC: code, CHECK: done })).toEqual({
      g7_inflation: sync,
      ...(check && { 'g7_inflation:gmsi_check': check }),
    });
  });

  test('a check that finds something fails its task at once', async () => {
    for (const [code, check] of [
      [incomplete, 'not passed'],
      [doNotRetry, 'failed'],
    ] as const) {
      expect(await ends('airflow', { SYNC: done, CHECK: code })).toMatchObject({
        'check-g7-inflation': ['failed', 1],
      });
      expect(await ends('dagster', { SYNC: done, CHECK: code })).toMatchObject({
        'g7_inflation:gmsi_check': [check, 1],
      });
    }
  });

  test('gmsi runs in the folder of the job files', async () => {
    for (const name of ['airflow', 'dagster'] as const) await ends(name, { SYNC: done, CHECK: done });
    const once = [`sync g7-inflation in ${folder}`, `check g7-inflation in ${folder}`];
    expect(calls()).toEqual([...once, ...once]);
  });

  test('whoever cancels a run lets gmsi stop by itself', async () => {
    const expected = [`sync g7-inflation in ${folder}`, 'stopped by SIGTERM'];
    expect(await ends('dagster', { SYNC: 'wait' })).toEqual({ run: ['canceled', 1] });
    expect(calls()).toEqual(expected);
    rmSync(join(folder, 'ready'));
    await ends('airflow', { SYNC: 'wait' });
    expect(calls()).toEqual([...expected, ...expected]);
  });
});

test('an exit code is added to these tests when the program gets one', () => {
  expect(new Set(Object.values(exitCodes))).toEqual(
    new Set([done, incomplete, doNotRetry, budget, interrupted]),
  );
});
