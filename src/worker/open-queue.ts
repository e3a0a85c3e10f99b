import { type LogFunctionFactory, Logger, runMigrations } from 'graphile-worker';
import type pg from 'pg';
import { ConfigError } from '../errors.ts';
import type { Log } from '../log.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import { retried } from '../warehouse/retries.ts';
import { ownsQueue, queueSchema } from '../warehouse/tables/queue.ts';

/**
 * Installs or upgrades graphile-worker's schema. Processes that start together wait for each other. Each migration is a
 * transaction, so if a connection breaks, the migration is repeated on another one.
 * @throws ConfigError if the user lacks the privileges, or if another user owns the schema, because only the owner sees its
 * rows; the signal's reason if it fires while the warehouse does not answer
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

/** Turns graphile-worker's log into entries of our log. Omits failed tasks, which are logged elsewhere with more context. */
export function queueLog(log: Log): Logger {
  const factory: LogFunctionFactory = (scope) => (level, message, meta) => {
    const about = { from: 'graphile-worker', ...(scope.label ? { part: scope.label } : {}) };
    if (level === 'error' && meta?.failure !== true) log.warn(about, message);
    else if (level === 'warning') log.warn(about, message);
    else log.trace(about, message);
  };
  return new Logger(factory);
}
