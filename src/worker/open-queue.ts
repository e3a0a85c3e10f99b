import { type LogFunctionFactory, Logger, runMigrations } from 'graphile-worker';
import type pg from 'pg';
import { ConfigError } from '../errors.ts';
import type { Log } from '../log.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import { namedDatabaseError } from '../warehouse/errors.ts';
import { ownsQueue, queueSchema } from '../warehouse/queries/queue.ts';

/**
 * Installs graphile-worker's schema, or brings it to the version in use; processes that start together wait for each other.
 * @throws ConfigError where the user may not, or where somebody else owns the schema, whose rows only its owner sees
 */
export async function openQueue(warehouse: Warehouse, pool: pg.Pool, log: Log): Promise<void> {
  try {
    await runMigrations({ pgPool: pool, schema: queueSchema, logger: queueLog(log) });
  } catch (error) {
    if ((error as { code?: string }).code !== '42501') throw namedDatabaseError(error);
    throw mayNot((error as Error).message, error);
  }
  if (!(await ownsQueue(warehouse))) throw mayNot('it belongs to another user');
}

function mayNot(why: string, cause?: unknown): ConfigError {
  return new ConfigError(`The warehouse's user may not use the queue, schema ${queueSchema}: ${why}`, {
    ...(cause === undefined ? {} : { cause }),
    hint: `It must own the schema, or be granted the role that does; to create it, it needs CREATE on the database.`,
  });
}

/** graphile-worker's log as entries of ours. Failed tasks are told elsewhere, with what they mean. */
export function queueLog(log: Log): Logger {
  const factory: LogFunctionFactory = (scope) => (level, message, meta) => {
    const about = { from: 'graphile-worker', ...(scope.label ? { part: scope.label } : {}) };
    if (level === 'error' && meta?.failure !== true) log.warn(about, message);
    else if (level === 'warning') log.warn(about, message);
    else log.trace(about, message);
  };
  return new Logger(factory);
}
