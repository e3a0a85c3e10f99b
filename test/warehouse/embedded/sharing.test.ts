import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { Secret } from '../../../src/secret.ts';
import { checkServer, connect } from '../../../src/warehouse/connect.ts';
import { useEmbeddedServer } from '../../../src/warehouse/embedded/server.ts';
import { aFolder, type Folder, gmsi, type Running, startGmsi } from '../../cli/gmsi.ts';
import { anEmbeddedHome } from '../../support/embedded-home.ts';
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

it('starts one server, in one place, for several first commands at once, and the last to leave stops it', async () => {
  const all = await Promise.all(Array.from({ length: 3 }, () => gmsi(['migrate', '--json'], setting)));
  expect(all.map(({ code, stderr }) => ({ code, stderr: code === 0 ? '' : stderr }))).toEqual(
    Array(3).fill({ code: 0, stderr: '' }),
  );
  const place = await cluster();
  for (const { stdout } of all) expect(JSON.parse(stdout).warehouse).toContain(place);
  const applied = all.flatMap(({ stdout }) => JSON.parse(stdout).applied);
  expect(new Set(applied).size).toBe(applied.length);
  expect(await readdir(place)).toEqual(['data']);
  expect(await serverPid()).toBeUndefined();
});

it('runs for as long as somebody uses it, reached by nobody without its password, nor from another machine', async () => {
  await anEmbeddedHome(home);
  const user = await stayingUser();
  const pid = await serverPid();
  expect(await gmsi(['psql', '-c', 'show listen_addresses'], setting)).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('127.0.0.1'),
  });
  expect(await serverPid()).toBe(pid);
  const guessed = addressOf(user);
  expect(guessed.hostname).toBe('127.0.0.1');
  guessed.password = 'guessed';
  const db = connect({ kind: 'url', url: new Secret(guessed.href) }, 1);
  await expect(checkServer(db)).rejects.toThrow('refuses the user');
  await db.destroy();
  user.kill('SIGINT');
  expect(await user.ended).toMatchObject({ code: 0 });
  expect(await serverPid()).toBeUndefined();
});

it('comes back after the server itself was killed, with all that was committed', async () => {
  await anEmbeddedHome(home);
  const user = await stayingUser();
  const client = new pg.Client({ connectionString: addressOf(user).href });
  client.on('error', () => {});
  await client.connect();
  await client.query('create table kept as select 42 as answer');
  process.kill((await serverPid())!, 'SIGKILL');

  const next = gmsi(['psql', '-c', 'select answer from kept'], setting);
  expect(await user.ended).toMatchObject({ code: 1, stderr: expect.stringContaining('does not answer') });
  expect(await next).toMatchObject({ code: 0, stdout: expect.stringContaining('42') });
  expect(await serverPid()).toBeUndefined();
});

it('is one for each GMSI_HOME, side by side', async () => {
  const homes = ['one', 'two'].map((name) => join(folder.path, name));
  for (const one of homes) await anEmbeddedHome(one);
  await using one = await useEmbeddedServer(homes[0]!);
  await using two = await useEmbeddedServer(homes[1]!);
  expect(two).toMatchObject({ started: true, location: { cluster: join(homes[1]!, 'postgres') } });
  expect(new URL(two.url.reveal()).port).not.toBe(new URL(one.url.reveal()).port);
});

/** A process that keeps the server running until it is told to stop, and does so already. */
async function stayingUser(): Promise<Running> {
  const user = startGmsi(['psql', '--address'], setting);
  await vi.waitFor(() => expect(user.stdout).toMatch(/^postgres:.*\n/), 30_000);
  return user;
}

function addressOf(user: Running): URL {
  return new URL(user.stdout.split('\n')[0]!);
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
