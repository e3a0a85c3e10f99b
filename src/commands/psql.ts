import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import { type OpenWarehouse, openWarehouse, type Session } from '../compose.ts';
import { environmentForPsql } from '../config.ts';
import { ConfigError } from '../errors.ts';
import { exitCodes } from '../exit.ts';
import { print, printError } from '../terminal/print.ts';
import { count, wholeTable } from '../terminal/table.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import { namedDatabaseError } from '../warehouse/errors.ts';

export interface PsqlOptions {
  readonly command?: string;
  readonly address?: boolean;
}

/** How often to look whether the server at the printed address is still there, in milliseconds. */
const checkInterval = 2_000;

/**
 * `gmsi psql`: psql on the warehouse in use. Where there is no psql, one statement is run without it, and for more the
 * address is printed and an embedded server is kept running until Ctrl-C.
 */
export async function psqlCommand(session: Session, options: PsqlOptions): Promise<number> {
  await using warehouse = await openWarehouse(session, 'as-is');
  // Awaited, not just returned: the warehouse must not be closed before they are done with it.
  if (options.address) return await keepOpen(session, warehouse);
  if (spawnSync('psql', ['--version'], { env: environmentForPsql() }).status !== 0) {
    return options.command === undefined
      ? await keepOpen(session, warehouse)
      : await runWithoutPsql(warehouse, options.command);
  }
  const args = ['-v', 'ON_ERROR_STOP=1', ...(options.command === undefined ? [] : ['-c', options.command])];
  const child = spawn('psql', args, {
    stdio: 'inherit',
    env: { ...environmentForPsql(), ...addressFor(warehouse) },
  });
  leaveSignalsTo(child);
  const [code] = await once(child, 'exit');
  return code ?? exitCodes.incomplete;
}

/** Ctrl-C is psql's: there it cancels a statement, and must not end the program that keeps the server running. */
function leaveSignalsTo(child: ChildProcess): void {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.removeAllListeners(signal);
  process.on('SIGINT', () => {});
  process.on('SIGTERM', () => child.kill('SIGTERM'));
}

async function keepOpen(session: Session, { db, url, description }: OpenWarehouse): Promise<number> {
  print(`${url?.reveal() ?? 'the PG* variables of this environment'}\n`);
  if (session.config.warehouse.kind !== 'embedded') return exitCodes.done;
  printError(`${description} runs at this address until Ctrl-C.\n`);
  while (!session.stop.aborted) {
    await sleep(checkInterval, undefined, { signal: session.stop }).catch(() => {});
    if (!session.stop.aborted) await answers(db);
  }
  return exitCodes.done;
}

/** @throws WarehouseUnavailable where the server is gone */
async function answers(db: Warehouse): Promise<void> {
  try {
    await sql`select`.execute(db);
  } catch (error) {
    throw namedDatabaseError(error);
  }
}

async function runWithoutPsql({ db }: OpenWarehouse, statement: string): Promise<number> {
  try {
    const { rows } = await sql.raw<Record<string, unknown>>(statement).execute(db);
    const head = Object.keys(rows[0] ?? {});
    const cells = rows.map((row) => head.map((column) => cell(row[column])));
    const lines = rows.length > 0 ? `${wholeTable(head, cells)}\n` : '';
    print(`${lines}(${count(rows.length, 'row')})\n`);
    return exitCodes.done;
  } catch (error) {
    const named = namedDatabaseError(error);
    if (named !== error || !(error instanceof Error)) throw named;
    throw new ConfigError(`The statement fails: ${error.message}`, {
      cause: error,
      hint: 'Mend the statement.',
    });
  }
}

function cell(value: unknown): string | number | null {
  if (value === null || typeof value === 'number' || typeof value === 'string') return value;
  return value instanceof Date ? value.toISOString() : JSON.stringify(value);
}

/** Through the environment, so that the password shows in no list of processes. */
function addressFor({ url }: OpenWarehouse): Record<string, string> {
  if (!url) return {};
  const { hostname, port, username, password, pathname, searchParams } = new URL(url.reveal());
  const settings = {
    PGHOST: decodeURIComponent(searchParams.get('host') ?? hostname),
    PGPORT: port,
    PGUSER: decodeURIComponent(username),
    PGPASSWORD: decodeURIComponent(password),
    PGDATABASE: decodeURIComponent(pathname.slice(1)),
    PGSSLMODE: searchParams.get('sslmode') ?? '',
  };
  return Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== ''));
}
