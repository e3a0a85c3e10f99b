import { execFile } from 'node:child_process';
import { appendFile, chown, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { findBinaries } from '../../src/warehouse/embedded/binaries.ts';
import { locateCluster, sharedRoot } from '../../src/warehouse/embedded/location.ts';
import { anEmbeddedHome } from './embedded-home.ts';
import { freePort } from './other-servers.ts';

/** A primary and a standby that streams from it; both are gone when disposed. */
export async function aPrimaryAndStandby() {
  const folder = await mkdtemp(join(tmpdir(), 'gmsi-standby-'));
  const home = join(folder, 'home');
  await anEmbeddedHome(home);
  const { cluster, account } = locateCluster(home);
  const { pgCtl } = findBinaries(account, () => sharedRoot(home, account));
  const primary = join(cluster, 'data');
  const standby = join(cluster, 'standby');
  const run = (file: string, args: string[]) =>
    promisify(execFile)(file, args, { ...account, cwd: '/', encoding: 'utf8' });
  const password = (await readFile(join(primary, 'gmsi-password'), 'utf8')).trim();
  const urlAt = (port: number) => `postgres://gmsi:${password}@127.0.0.1:${port}/gmsi`;
  const start = async (data: string, port: number) => {
    const settings = [`-c port=${port}`, '-c listen_addresses=127.0.0.1', '-c unix_socket_directories='];
    const more = ['-c fsync=off', '-c hot_standby_feedback=on'];
    const options = ['-o', [...settings, ...more].join(' ')];
    await run(pgCtl, ['start', '-w', '-l', join(data, 'server.log'), '-D', data, ...options]);
  };
  const stop = (data: string) => run(pgCtl, ['stop', '-w', '-m', 'fast', '-D', data]);
  const [first, second] = [await freePort(), await freePort()];
  // The embedded server writes too little WAL for a standby. A copy of a stopped server's folder is a base backup.
  await start(primary, first);
  await stop(primary);
  await run('cp', ['-a', primary, standby]);
  await writeFile(join(standby, 'standby.signal'), '');
  if (account) await chown(join(standby, 'standby.signal'), account.uid, account.gid);
  const from = `host=127.0.0.1 port=${first} user=gmsi password=${password}`;
  await appendFile(join(standby, 'postgresql.auto.conf'), `primary_conninfo = '${from}'\n`);
  await start(primary, first);
  await start(standby, second);
  return {
    primary: { url: urlAt(first) },
    standby: { url: urlAt(second) },
    async [Symbol.asyncDispose]() {
      await stop(standby);
      await stop(primary);
      await rm(folder, { recursive: true, force: true });
    },
  };
}
