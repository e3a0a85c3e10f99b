import { execFile } from 'node:child_process';
import { randomBytes, randomInt } from 'node:crypto';
import { once } from 'node:events';
import { chmod, mkdtemp, readdir, rm, stat, statfs } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import pg from 'pg';
import type { TestProject } from 'vitest/node';
import { Secret } from '../../src/secret.ts';
import { connect } from '../../src/warehouse/connect.ts';
import { useEmbeddedServer } from '../../src/warehouse/embedded/server.ts';
import { migrate } from '../../src/warehouse/migrate.ts';
import { copyHome } from './copy-home.ts';
import './moved-time.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    /** Address of the server that the tests share. */
    readonly serverUrl: string;
    /** A migrated, empty database to clone. */
    readonly template: string;
    /** The GMSI_HOME of an embedded server that was set up, migrated and is stopped, to copy. */
    readonly embeddedHome: string;
  }
}

interface Server {
  readonly url: string;
  readonly stop: () => Promise<void>;
}

/** One PostgreSQL for the whole run, with a migrated template that each test file clones; and the program, built. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  // Without a blank: R removes its folder in TMPDIR by a command of the shell that does not quote it.
  const homes = await mkdtemp(join(await inMemory(), 'gmsi-test-'));
  // Or the server, which root does not run as root, would have to keep its data outside of it.
  await chmod(homes, 0o755);
  // For the tests' own folders, too: copying a cluster to a disk takes ten times as long.
  process.env.TMPDIR = homes;
  const embeddedHome = join(homes, 'to copy');
  const [server] = await Promise.all([
    setUpServer(embeddedHome).then(() => startServer(embeddedHome)),
    build(),
  ]);
  const template = `gmsi_template_${process.pid}_${Date.now()}`;
  const admin = new pg.Client({ connectionString: server.url });
  await admin.connect();
  await admin.query(`create database ${template} template template0 encoding 'UTF8'`);
  const url = new URL(server.url);
  url.pathname = `/${template}`;
  const warehouse = connect({ kind: 'url', url: new Secret(url.href) }, 1);
  await migrate(warehouse);
  await warehouse.destroy();
  project.provide('serverUrl', server.url);
  project.provide('template', template);
  project.provide('embeddedHome', embeddedHome);
  return async () => {
    await dropAll(admin, template);
    await admin.end();
    await server.stop();
    await rm(homes, { recursive: true, force: true });
  };
}

/** Linux's folder in memory, where hundreds of databases are made with less work, if it has room: they take half a gigabyte. */
async function inMemory(): Promise<string> {
  const memory = '/dev/shm';
  const { bavail, bsize } = await statfs(memory).catch(() => ({ bavail: 0, bsize: 0 }));
  return bavail * bsize > 4e9 ? memory : tmpdir();
}

/** The template, and what tests have made of it and left. */
async function dropAll(admin: pg.Client, template: string): Promise<void> {
  const { rows } = await admin.query<{ datname: string }>(
    'select datname from pg_database where starts_with(datname, $1)',
    [template],
  );
  for (const { datname } of rows) await admin.query(`drop database ${datname} with (force)`);
}

/** Tests that run the program as a process must not meet an older one in `dist`; types are `npm run check`'s affair. */
async function build(): Promise<void> {
  const root = fileURLToPath(new URL('../..', import.meta.url));
  const changedAt = async (path: string) => (await stat(join(root, path))).mtimeMs;
  // Folders, too: they change if a file goes.
  const sources = await Promise.all(
    ['src', 'packages'].map(async (folder) =>
      (await readdir(join(root, folder), { recursive: true })).map((path) => join(folder, path)),
    ),
  );
  const inputs = await Promise.all(['package.json', 'build.mjs', ...sources.flat()].map(changedAt));
  // The last file that a build writes.
  const builtAt = await changedAt('dist/page/index.html.br').catch(() => 0);
  if (Math.max(...inputs) < builtAt) return;
  await promisify(execFile)('npm', ['run', 'build'], { cwd: root });
}

/** Sets up an embedded server once for all that tests start: its data and its schema take seconds, copying them does not. */
async function setUpServer(home: string): Promise<void> {
  await using server = await useEmbeddedServer(home);
  const admin = new pg.Client({ connectionString: server.url.reveal() });
  await admin.connect();
  // Connections are made by the thousand: the same password, which costs nothing to check.
  await admin.query('set scram_iterations = 1');
  await admin.query(`alter role current_user password '${new URL(server.url.reveal()).password}'`);
  // Databases are made and dropped by the hundred; none of them has to outlive the machine.
  await admin.query('alter system set fsync = off');
  await admin.query('alter system set full_page_writes = off');
  // Nor do they live long enough to need it, and no plan changes while a test reads it.
  await admin.query('alter system set autovacuum = off');
  await admin.query('select pg_reload_conf()');
  await admin.end();
  await using warehouse = connect({ kind: 'url', url: server.url }, 1);
  await migrate(warehouse);
}

/** `TEST_DATABASE_URL`, a container (`TEST_POSTGRES=container`, image `POSTGRES_IMAGE`), or an embedded server. */
async function startServer(embeddedHome: string): Promise<Server> {
  if (process.env.TEST_DATABASE_URL) return { url: process.env.TEST_DATABASE_URL, stop: async () => {} };
  if (process.env.TEST_POSTGRES === 'container') return await startContainer();
  const home = `${embeddedHome}, started`;
  await copyHome(embeddedHome, home);
  const server = await useEmbeddedServer(home);
  return { url: server.url.reveal(), stop: async () => server[Symbol.asyncDispose]() };
}

async function startContainer(): Promise<Server> {
  const { PostgreSqlContainer } = await import('@testcontainers/postgresql');
  const { Wait } = await import('testcontainers');
  const container = await new PostgreSqlContainer(process.env.POSTGRES_IMAGE ?? 'postgres:18')
    // Not the default, `test`: tests search for stored secrets, so a secret must be a text that occurs nowhere else.
    .withPassword(randomBytes(12).toString('hex'))
    // Its own strategy waits for the engine to check the container's health, which podman without systemd never does.
    .withWaitStrategy(Wait.forSuccessfulCommand('pg_isready --quiet --host 127.0.0.1'))
    .withExposedPorts({ container: 5432, host: await aReservedPort() })
    .start();
  return { url: container.getConnectionUri(), stop: async () => void (await container.stop()) };
}

/**
 * A free port below those that the system hands out. Podman forwards a container's port without holding it: a test's own
 * server could be given the same one, and whoever asks that would reach the container.
 */
async function aReservedPort(): Promise<number> {
  for (;;) {
    const port = randomInt(20_000, 30_000);
    const server = createServer().listen(port, '127.0.0.1');
    const isFree = await once(server, 'listening').then(
      () => true,
      () => false,
    );
    server.close();
    if (isFree) return port;
  }
}
