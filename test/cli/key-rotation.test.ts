import { expect, it } from 'vitest';
import { startSandbox } from '#sandbox';
import { countRows } from '../support/warehouse-state.ts';
import { accessTo } from './gmsi.ts';
import { gmsiHere } from './in-process.ts';
import { jobFor, quarter } from './jobs.ts';
import { aPlace } from './place.ts';

it('follows “The key” in docs/operating.md: the new key continues the count and the load of the old one', async () => {
  const [before, after] = ['the-old-key-of-a-desk', 'the-new-key-of-a-desk'];
  await using place = await aPlace({ keys: [before, after] });
  const { folder, sandbox, warehouse } = place;
  const { GMSI_API_KEY: _, ...env } = accessTo(warehouse, sandbox);
  const run = (...args: string[]) => gmsiHere([...args, '--json', '--quiet'], { cwd: folder.path, env });
  const budget = async (...args: string[]) =>
    JSON.parse((await run('budget', ...args)).stdout).requests as {
      key: string;
      is_own: boolean;
      requests: number;
    }[];
  // The description of the service that doctor reads is booked as a request, but the sandbox does not count it.
  const counted = (descriptions = 0) => sandbox.stats().requests + descriptions;
  await folder.write('jobs/desk.yaml', jobFor(quarter));
  await folder.write('.env', `GMSI_API_KEY=${before}\n`);
  expect(await run('backfill', 'desk', '--max-requests', '9')).toMatchObject({ code: 75 });
  const [old] = await budget();
  expect(old!.requests).toBe(counted());

  await folder.write('.env', `GMSI_API_KEY=${after}\n`);
  expect(await run('doctor')).toMatchObject({ code: 0 });
  expect(await budget()).toContainEqual(
    expect.objectContaining({ key: old!.key, is_own: false, requests: old!.requests }),
  );
  expect(await budget('--merge', old!.key)).toMatchObject([{ is_own: true, requests: counted(1) }]);
  expect(await run('backfill', 'desk')).toMatchObject({ code: 0 });
  expect(sandbox.stats().pagesServedTwice).toBe(0);
  expect(await budget()).toMatchObject([{ is_own: true, requests: counted(1) }]);

  await using withdrawn = await startSandbox({ limits: null, keys: [after] });
  const rows = await countRows(warehouse.db, 'headlines');
  const late = { ...env, GMSI_API_KEY: before, GMSI_BASE_URL: withdrawn.url };
  const ended = await gmsiHere(['backfill', 'desk', '--full-refresh', '--quiet'], {
    cwd: folder.path,
    env: late,
  });
  expect(ended).toMatchObject({ code: 2 });
  expect(await countRows(warehouse.db, 'headlines')).toBe(rows);
});
