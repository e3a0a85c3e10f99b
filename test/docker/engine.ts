import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../..', import.meta.url));

/** Whether tests may use a container engine: as for the tests' PostgreSQL, only on request. */
export const hasEngine = process.env.TEST_POSTGRES === 'container';

/** How a command line of the engine ended. */
export interface Said {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the engine's command line to its end, however it ends. */
export async function tryDocker(...args: readonly string[]): Promise<Said> {
  return run('docker', args).then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    ({ code, stdout, stderr }) => ({ code, stdout, stderr }),
  );
}

/** What the engine prints. @throws if it fails */
export async function docker(...args: readonly string[]): Promise<string> {
  return (await run('docker', args)).stdout.trim();
}

/** `NODE_IMAGE`, else the Dockerfile's own base if a registry can be reached, else one made of this machine's files. */
export async function baseImage(usual: string): Promise<string> {
  if (process.env.NODE_IMAGE) return process.env.NODE_IMAGE;
  if ((await tryDocker('image', 'inspect', usual)).code === 0) return usual;
  if ((await tryDocker('pull', '--quiet', usual)).code === 0) return usual;
  const own = 'localhost/node-of-this-machine';
  await run(fileURLToPath(new URL('base-of-this-machine.sh', import.meta.url)), [own]);
  return own;
}

/** Builds this checkout's Dockerfile. */
export async function buildImage(name: string, base: string): Promise<void> {
  const hasPodman = process.env.PATH!.split(delimiter).some((folder) => existsSync(join(folder, 'podman')));
  const { stdout: cache } = await run('npm', ['config', 'get', 'cache']);
  // Without the first two, Podman leaves the health check out and, if its storage has no overlays, copies everything for
  // each layer. With npm's cache of this machine nothing is downloaded twice: npm leaves out an optional package, such as
  // the binary of a compiler, whose download fails.
  const podman = ['podman', '--format=docker', '--layers=false', `--volume=${cache.trim()}:/root/.npm`];
  const [engine, ...how] = hasPodman ? podman : ['docker'];
  const args = ['build', ...how, '--quiet', '--build-arg', `BASE=${base}`, '--tag', name, root];
  await run(engine!, args, { maxBuffer: 2 ** 26 });
}

/** A network of a test's own; with it go the containers that were started in it. */
export interface Network extends AsyncDisposable {
  /** Starts a container, and gives the name by which the others reach it. */
  start(options: readonly string[], command: readonly string[]): Promise<string>;
}

export async function aNetwork(): Promise<Network> {
  const name = `gmsi-${randomUUID()}`;
  const containers: string[] = [];
  await docker('network', 'create', name);
  return {
    async start(options, command) {
      const container = `${name}-${containers.length}`;
      containers.push(container);
      await docker('run', '--detach', `--network=${name}`, `--name=${container}`, ...options, ...command);
      return container;
    },
    async [Symbol.asyncDispose]() {
      for (const container of containers) await tryDocker('rm', '--force', '--volumes', container);
      await tryDocker('network', 'rm', name);
    },
  };
}
