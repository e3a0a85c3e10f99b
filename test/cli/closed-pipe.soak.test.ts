import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { beforeAll, expect, it } from 'vitest';
import { accessTo, program } from './gmsi.ts';
import { jobFor, quarter } from './jobs.ts';
import { aPlaceForAll } from './place.ts';

const { folder, sandbox, warehouse } = await aPlaceForAll();

beforeAll(async () => {
  await folder.write('jobs/job.yaml', jobFor(quarter));
});

// Without --json there is something new to write every few seconds.
it.concurrent.each(['status --watch', 'status --watch --json'])(
  'stops watching once nobody looks any more: gmsi %s',
  (command) => expectQuiet(command, true),
);

async function expectQuiet(command: string, isLookedAtFirst: boolean): Promise<void> {
  const child = spawn(process.execPath, [program, ...command.split(' ')], {
    cwd: folder.path,
    env: { PATH: process.env.PATH, HOME: folder.path, ...accessTo(warehouse, sandbox) },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  if (isLookedAtFirst) await once(child.stdout, 'data');
  child.stdout.destroy();
  const [said, [code]] = await Promise.all([text(child.stderr), once(child, 'exit')]);
  expect({ said, code }).toEqual({ said: '', code: 0 });
}
