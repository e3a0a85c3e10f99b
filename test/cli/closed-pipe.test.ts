import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { openSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { beforeAll, expect, it } from 'vitest';
import { movedTime } from '../support/moved-time.ts';
import { heldBy, servedBy } from '../support/truth.ts';
import { accessTo, program } from './gmsi.ts';
import { january, jobFor } from './jobs.ts';
import { aPlaceForAll } from './place.ts';

const { folder, sandbox, warehouse } = await aPlaceForAll({ volume: 0.05 });

beforeAll(async () => {
  await folder.write('jobs/job.yaml', jobFor(january));
});

it('loads all that it was asked for and ends with 0 although nobody reads what it says', async () => {
  const child = start(['backfill', 'job', '--verbose']);
  child.stdout!.destroy();
  child.stderr!.destroy();
  expect(await once(child, 'exit')).toEqual([0, null]);
  expect(await heldBy(warehouse.db, january)).toEqual(servedBy(sandbox, january));
});

it('ends once nobody reads what it prints', async () => {
  const child = start(['status', 'job', '--json']);
  child.stdout!.destroy();
  const [said, [code]] = await Promise.all([text(child.stderr!), once(child, 'exit')]);
  expect({ said, code }).toEqual({ said: '', code: 0 });
});

it.skipIf(process.platform !== 'linux')('says that the disk is full, with code 1', async () => {
  const child = start(['migrate', 'status', '--json'], openSync('/dev/full', 'w'));
  const [said, [code]] = await Promise.all([text(child.stderr!), once(child, 'exit')]);
  expect({ said, code }).toEqual({
    said: expect.stringMatching(/^gmsi: The result cannot be written to standard output: ENOSPC.*\n$/),
    code: 1,
  });
});

function start(args: readonly string[], stdout: number | 'pipe' = 'pipe') {
  return spawn(process.execPath, [program, ...args], {
    cwd: folder.path,
    env: { PATH: process.env.PATH, HOME: folder.path, ...movedTime, ...accessTo(warehouse, sandbox) },
    stdio: ['ignore', stdout, 'pipe'],
  });
}
