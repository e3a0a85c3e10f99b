import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { findBinaries } from '../../src/warehouse/embedded/binaries.ts';
import { sharedRoot } from '../../src/warehouse/embedded/location.ts';
import { useEmbeddedServer } from '../../src/warehouse/embedded/server.ts';
import { anEmbeddedHome } from './embedded-home.ts';

/** A server of a test's own, which comes back at the same port when it is restarted. */
export async function aRestartableServer() {
  const folder = await mkdtemp(join(tmpdir(), 'gmsi-restart-'));
  const home = join(folder, 'home');
  await anEmbeddedHome(home);
  const server = await useEmbeddedServer(home);
  const { cluster, account } = server.location;
  const { pgCtl } = findBinaries(account, () => sharedRoot(home, account));
  const control = async (...args: string[]) => {
    // The started server would hold a pipe open for as long as it runs.
    const quiet = ['-l', join(cluster, 'data', 'server.log'), '-w', '-D', join(cluster, 'data')];
    await promisify(execFile)(pgCtl, [...args, ...quiet], { ...account, cwd: '/' });
  };
  return {
    url: server.url,
    restart: (mode: 'fast' | 'immediate') => control('restart', '-m', mode),
    stop: () => control('stop', '-m', 'fast'),
    // With the options, and so at the port, that it had before.
    start: () => control('restart'),
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
