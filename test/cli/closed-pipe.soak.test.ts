import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import { aWarehouse } from '../support/test-warehouse.ts';
import { aFolder, program } from './gmsi.ts';

it('stops watching once nobody looks any more, also if there is nothing new to write', async () => {
  await using folder = await aFolder();
  await using warehouse = await aWarehouse();
  const child = spawn(process.execPath, [program, 'status', '--watch', '--json'], {
    cwd: folder.path,
    env: { PATH: process.env.PATH, HOME: folder.path, DATABASE_URL: warehouse.url },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  await once(child.stdout, 'data');
  child.stdout.destroy();
  const [said, [code]] = await Promise.all([text(child.stderr), once(child, 'exit')]);
  expect({ said, code }).toEqual({ said: '', code: 0 });
});
