import { type LogFunctionFactory, Logger, runMigrations } from 'graphile-worker';
import type pg from 'pg';
import { ConfigError } from '../errors.ts';
import type { Log } from '../log.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import { retried } from '../warehouse/retries.ts';
import { ownsQueue, queueSchema } from '../warehouse/tables/queue.ts';

/**
 * Installs graphile-worker's schema, or brings it to the version in use; processes that start together wait for each other.
 * Each of its migrations is a transaction, so one that a broken connection cuts short is tried again on another connection.
 * @throws ConfigError if the user may not do that, or if somebody else owns the schema, whose rows only its owner sees;
 * the signal's reason if it fires while the warehouse does not answer
 */
export async function openQueue(
  warehouse: Warehouse,
  pool: pg.Pool,
  log: Log,
  stop: AbortSignal,
): Promise<void> {
  await retried(() => migrateQueue(pool, log), { signal: stop });
  const isOurs = await ownsQueue(warehouse);
  if (!isOurs) throw mayNot('it belongs to another user');
}

async function migrateQueue(pool: pg.Pool, log: Log): Promise<void> {
  try {
    await runMigrations({ pgPool: pool, schema: queueSchema, logger: queueLog(log) });
  } catch (error) {
    throw (error as { code?: string }).code === '42501' ? mayNot((error as Error).message, error) : error;
  }
}

function mayNot(why: string, cause?: unknown): ConfigError {
  return new ConfigError(`The warehouse's user may not use the queue, schema ${queueSchema}: ${why}`, {
    ...(cause === undefined ? {} : { cause }),
    hint: `It must own the schema, or be granted the role that owns it; to create it, it needs CREATE on the database.`,
  });
}

/** graphile-worker's log as entries of ours. Failed tasks are reported elsewhere, with their meaning. */
export function queueLog(log: Log): Logger {
  const factory: LogFunctionFactory = (scope) => (level, message, meta) => {
    const about = { from: 'graphile-worker', ...(scope.label ? { part: scope.label } : {}) };
    if (level === 'error' && meta?.failure !== true) log.warn(about, message);
    else if (level === 'warning') log.warn(about, message);
    else log.trace(about, message);
  };
  return new Logger(factory);
}
