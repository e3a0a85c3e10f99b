import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { aFolder, type Folder, gmsi, type Running, startGmsi } from '../cli/gmsi.ts';
import { clusterElsewhere, removeHome } from './clone.ts';

let folder: Folder;
let home: string;
let setting: { cwd: string; env: Record<string, string> };

beforeEach(async () => {
  folder = await aFolder();
  home = join(folder.path, 'home');
  setting = { cwd: folder.path, env: { GMSI_HOME: home } };
});

afterEach(async () => {
  await removeHome(home);
  await folder[Symbol.asyncDispose]();
});

it('starts one server for five first commands at once, and the last to leave stops it', async () => {
  const all = await Promise.all(
    Array.from({ length: 5 }, () => gmsi(['psql', '-c', 'select pg_postmaster_start_time()'], setting)),
  );
  for (const one of all) expect(one).toMatchObject({ code: 0 });
  expect(await serverPid()).toBeUndefined();
});

it('runs for as long as somebody uses it', async () => {
  const user = await stayingUser();
  const pid = await serverPid();
  expect(await gmsi(['migrate'], setting)).toMatchObject({ code: 0 });
  expect(await serverPid()).toBe(pid);
  user.kill('SIGINT');
  expect(await user.ended).toMatchObject({ code: 0 });
  expect(await serverPid()).toBeUndefined();
});

it('comes back after the server itself was killed, with all that was committed', async () => {
  const user = await stayingUser();
  const keep = ['psql', '-c', 'create table kept as select 42 as answer'];
  expect(await gmsi(keep, setting)).toMatchObject({ code: 0 });
  process.kill((await serverPid())!, 'SIGKILL');

  const next = gmsi(['psql', '-c', 'select answer from kept'], setting);
  expect(await user.ended).toMatchObject({ code: 1, stderr: expect.stringContaining('does not answer') });
  expect(await next).toMatchObject({ code: 0, stdout: expect.stringContaining('42') });
  expect(await serverPid()).toBeUndefined();
});

it('may be interrupted in the middle of its very first start', async () => {
  const first = startGmsi(['migrate'], setting);
  await vi.waitFor(
    async () => expect(await readdir(await cluster())).toContainEqual(expect.stringMatching(/^making-/)),
    {
      timeout: 30_000,
      interval: 5,
    },
  );
  first.kill('SIGKILL');
  await first.ended;
  expect(await gmsi(['migrate'], setting)).toMatchObject({ code: 0 });
  expect(await readdir(await cluster())).toEqual(['data']);
});

it('is reached by nobody without its password, nor from another machine', async () => {
  const user = await stayingUser();
  const [address] = user.stdout.split('\n');
  const url = new URL(address!);
  expect(url.hostname).toBe('127.0.0.1');
  const wrong = new URL(url);
  wrong.password = 'guessed';
  const guessed = await gmsi(['status'], { cwd: folder.path, env: { DATABASE_URL: wrong.href } });
  expect(guessed).toMatchObject({ code: 2, stderr: expect.stringContaining('refuses the user') });
  const listening = await gmsi(['psql', '-c', 'show listen_addresses'], setting);
  expect(listening.stdout).toContain('127.0.0.1');
  user.kill('SIGINT');
  await user.ended;
});

/** A process that keeps the server running until it is told to stop, and does so already. */
async function stayingUser(): Promise<Running> {
  const user = startGmsi(['psql', '--address'], setting);
  await vi.waitFor(() => expect(user.stdout).toMatch(/^postgres:.*\n/), 30_000);
  return user;
}

/** Of the server that is running; gone with it. */
async function serverPid(): Promise<number | undefined> {
  try {
    return Number((await readFile(join(await cluster(), 'data', 'postmaster.pid'), 'utf8')).split('\n')[0]);
  } catch {
    return undefined;
  }
}

async function cluster(): Promise<string> {
  return (await clusterElsewhere(home)) ?? join(home, 'postgres');
}
