import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import pg from 'pg';
import { expect, it } from 'vitest';
import { Secret } from '../../../src/secret.ts';
import { checkServer, connect } from '../../../src/warehouse/connect.ts';
import { useEmbeddedServer } from '../../../src/warehouse/embedded/server.ts';
import { gmsi } from '../../cli/gmsi.ts';
import { gmsiHere } from '../../cli/in-process.ts';
import { anEmbeddedHome } from '../../support/embedded-home.ts';
import { cluster, home, postmaster, setting, stayingUser, withHome } from './staying.ts';

withHome();

it('starts one server, in one place, for several first commands at once, and the last to leave stops it', async () => {
  const all = await Promise.all(Array.from({ length: 2 }, () => gmsi(['migrate', '--json'], setting)));
  expect(all.map(({ code, stderr }) => ({ code, stderr: code === 0 ? '' : stderr }))).toEqual(
    Array(2).fill({ code: 0, stderr: '' }),
  );
  const place = await cluster();
  for (const { stdout } of all) expect(JSON.parse(stdout).warehouse).toContain(place);
  const applied = all.flatMap(({ stdout }) => JSON.parse(stdout).applied);
  expect(new Set(applied).size).toBe(applied.length);
  expect(await readdir(place)).toEqual(['data']);
  expect(await postmaster()).toBeUndefined();
});

it('runs for as long as somebody uses it, reached by nobody without its password, nor from another machine', async () => {
  await anEmbeddedHome(home);
  const user = await stayingUser();
  const pid = await postmaster();
  expect(await gmsiHere(['psql', '-c', 'show listen_addresses'], setting)).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('127.0.0.1'),
  });
  expect(await postmaster()).toBe(pid);
  const guessed = new URL(user.stdout.split('\n')[0]!);
  expect(guessed.hostname).toBe('127.0.0.1');
  guessed.password = 'guessed';
  const db = connect({ kind: 'url', url: new Secret(guessed.href) }, 1);
  await expect(checkServer(db)).rejects.toThrow('refuses the user');
  await db.destroy();
  user.kill('SIGINT');
  expect(await user.ended).toMatchObject({ code: 0 });
  expect(await postmaster()).toBeUndefined();
});

it('is one for each GMSI_HOME, side by side, and keeps its port from start to start, unless it is taken', async () => {
  const homes = ['one', 'two'].map((name) => join(setting.cwd, name));
  for (const one of homes) await anEmbeddedHome(one);
  const portOf = (server: { url: Secret }) => Number(new URL(server.url.reveal()).port);
  let first: number;
  {
    await using one = await useEmbeddedServer(homes[0]!);
    await using two = await useEmbeddedServer(homes[1]!);
    expect(two).toMatchObject({ location: { cluster: join(homes[1]!, 'postgres') } });
    first = portOf(one);
    expect(portOf(two)).not.toBe(first);
  }
  {
    await using again = await useEmbeddedServer(homes[0]!);
    expect(portOf(again)).toBe(first);
  }
  const other = createServer().listen(first, '127.0.0.1');
  await once(other, 'listening');
  try {
    await using elsewhere = await useEmbeddedServer(homes[0]!);
    expect(portOf(elsewhere)).not.toBe(first);
  } finally {
    other.close();
  }
});

it('lets a login of gmsi psql --reader in while it runs, but not to where its users hold their lock', async () => {
  await anEmbeddedHome(home);
  await using _running = await useEmbeddedServer(home);
  expect(await gmsiHere(['migrate'], setting)).toMatchObject({ code: 0 });
  const { code, stdout } = await gmsiHere(['psql', '--reader', 'analyst'], setting);
  expect(code).toBe(0);
  expect(stdout).toContain('answers on this machine only, and stops a minute after the last command');
  const address = /^address +(\S+)$/m.exec(stdout)![1]!;
  const client = new pg.Client({ connectionString: address });
  await client.connect();
  expect((await client.query('select count(*)::int as n from gmsi.headlines')).rows).toEqual([{ n: 0 }]);
  await client.end();
  const lock = new pg.Client({ connectionString: address.replace(/\/gmsi$/, '/postgres') });
  await expect(lock.connect()).rejects.toThrow(/permission denied for database "postgres"/);
});
