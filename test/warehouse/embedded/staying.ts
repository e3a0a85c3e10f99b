import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { afterEach, beforeEach, expect, vi } from 'vitest';
import { aFolder, type Folder, type Running, startGmsi } from '../../cli/gmsi.ts';
import { anEmbeddedHome } from '../../support/embedded-home.ts';
import { clusterElsewhere, removeHome } from './clone.ts';
import { processesIn } from './processes.ts';

let folder: Folder;
export let home: string;
export let setting: { cwd: string; env: Record<string, string> };

/** Gives each test of a file a GMSI_HOME of its own. */
export function withHome(): void {
  beforeEach(async () => {
    folder = await aFolder();
    home = join(folder.path, 'home');
    setting = { cwd: folder.path, env: { GMSI_HOME: home } };
  });

  afterEach(async () => {
    await removeHome(home);
    await folder[Symbol.asyncDispose]();
  });
}

/** A process that already keeps the server running, until it is stopped. */
export async function stayingUser(more: { detached?: boolean } = {}): Promise<Running> {
  if (!existsSync(home)) await anEmbeddedHome(home);
  const user = startGmsi(['psql', '--address'], { ...setting, ...more });
  await vi.waitFor(() => expect(user.stdout, user.stderr).toMatch(/^postgresql:.*\n/), 60_000);
  return user;
}

export function nothingRuns(): Promise<void> {
  return vi.waitFor(async () => expect(processesIn(await cluster())).toEqual([]), {
    timeout: 60_000,
    interval: 200,
  });
}

export async function connected(user: Running): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: user.stdout.split('\n')[0]! });
  client.on('error', () => {});
  await client.connect();
  return client;
}

/** How many users hold the server, as it sees it; 0 while it is not to be reached. */
export async function sessions(user: Running): Promise<number> {
  try {
    const client = await connected(user);
    const { rows } = await client.query(
      "select count(*)::int as many from pg_locks where locktype = 'advisory' and objid = 20160101 and granted",
    );
    await client.end();
    return rows[0].many;
  } catch {
    return 0;
  }
}

export async function looksTwice(user: Running): Promise<void> {
  const client = await connected(user);
  const looks = async () => {
    const { rows } = await client.query(
      "select query_start, xact_start from pg_stat_activity where application_name like 'gmsi (stops%'",
    );
    return String(rows[0]?.xact_start?.getTime());
  };
  const seen = new Set<string>();
  await vi.waitFor(async () => expect(seen.add(await looks()).size).toBeGreaterThan(2), {
    timeout: 30_000,
    interval: 100,
  });
  await client.end();
}

/** The first line is its process id. */
export async function postmaster(): Promise<string | undefined> {
  const pid = join(await cluster(), 'data', 'postmaster.pid');
  return existsSync(pid) ? readFileSync(pid, 'utf8').split('\n')[0] : undefined;
}

export async function cluster(): Promise<string> {
  return (await clusterElsewhere(home)) ?? join(home, 'postgres');
}
