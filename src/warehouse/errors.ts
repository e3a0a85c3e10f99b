import { ConfigError, GmsiError } from '../errors.ts';
import { tlsProblem } from './tls.ts';

/** The warehouse did not answer: a restart, a cut connection, too many connections. */
export class WarehouseUnavailable extends GmsiError {
  override readonly kind = 'retryable';
}

/** The warehouse's disk is full. Trying again at once does not help; once there is space, a rerun loses nothing. */
export class WarehouseFull extends GmsiError {
  override readonly kind = 'retryable';
}

/** A connection broke while a transaction was writing: the server restarted, or this write crashed it. */
export class WriteCutOff extends WarehouseUnavailable {}

/** A transaction that wrote took longer than half of `gmsi.as_of_delay()`, so that it could not be committed. */
export class WriteTooSlow extends WarehouseUnavailable {}

/** A write waited too long for another session's lock. */
export class WriteLocked extends WarehouseUnavailable {
  /** The same, naming who may hold it. */
  by(holders: readonly string[]): WriteLocked {
    if (holders.length === 0) return this;
    const message = `${this.message} (${holders.join(', ')})`;
    return new WriteLocked(message, { cause: this.cause, hint: this.hint! });
  }
}

/** A write that failed several times and may be the cause itself: it is dropped, and the load goes on without it. */
export class WriteGivenUp extends GmsiError {
  override readonly kind = 'skippable';
}

/**
 * Class 08 connection exceptions, 40001/40P01 serialisation and deadlock, 53300 connections, 57P0x shutting down, and the
 * time limits by which a server ends a connection: 25P03 and 25P04 in a transaction, 57P05 idle.
 */
const passing = /^(08...|25P0[34]|40001|40P01|53300|55P03|57P0[1-35])$/;
/** The server ended a session: it shut down or crashed, or the session was idle in a transaction. */
const ending = /^(08...|57P0[1-35]|25P03)$/;
/**
 * True if a row found no partition. Each partition is made before its rows are written, so this connection does not know it
 * yet: seen on PostgreSQL 15 if another connection attaches it at that moment. A new connection knows it.
 */
function missesPartition(error: unknown): boolean {
  const { code, routine } = error as { code?: string; routine?: string };
  // By the reporting function, not by the message, which may be in any language.
  return code === '23514' && routine === 'ExecFindPartition';
}

/**
 * True if a table has got a column since this connection prepared the statement: it always fails on this connection, but not
 * on a new one.
 */
function hasOldPlan(error: unknown): boolean {
  const { code, routine } = error as { code?: string; routine?: string };
  return code === '0A000' && routine === 'RevalidateCachedQuery';
}

/** True if an error will come again on the same connection, but not on a new one. */
export function isStale(error: unknown): boolean {
  return missesPartition(error) || hasOldPlan(error);
}

const network = new Set([
  ...['ECONNREFUSED', 'ECONNRESET', 'ECONNABORTED', 'EPIPE', 'ETIMEDOUT', 'ENOTCONN'],
  ...['EHOSTUNREACH', 'EHOSTDOWN', 'ENETUNREACH', 'ENETDOWN', 'ENETRESET', 'EAI_AGAIN'],
  // In the middle of a load these pass, too; at its beginning, `firstAnswer` treats them as a wrong address.
  ...['ENOTFOUND', 'ANOTHER_PROTOCOL'],
  // A write after the other end, or a time limit here, has closed the connection.
  ...['ERR_STREAM_DESTROYED', 'ERR_STREAM_WRITE_AFTER_END', 'ERR_SOCKET_CLOSED'],
]);
/** pg's messages, which have no code, for connections that could not be opened or ended during a query. */
const cutConnection =
  /^(Connection terminated|Client has encountered a connection error|Client was closed and is not queryable|Query read timeout|timeout e)/;
const privileges = 'The user needs what docs/operating.md lists under "Privileges"; gmsi doctor checks them.';

/** Turns an error of a transaction that writes rows into one with a kind; returns any other unchanged. */
export function namedWriteError(error: unknown): unknown {
  if (error instanceof GmsiError || !(error instanceof Error)) return error;
  const code = (error as { code?: string }).code ?? '';
  const details = { cause: error };
  if (code === '55P03') {
    return new WriteLocked('Another session holds a lock on what this load writes', {
      ...details,
      hint: 'End that session or its transaction (pg_stat_activity shows it); a rerun goes on where this one stopped.',
    });
  }
  if (code === '25P04' || code === '57014') {
    return new WriteTooSlow(`Writing took too long: ${error.message}`, {
      ...details,
      hint: 'docs/operating.md, "Locks and slow disks", says how to raise gmsi.as_of_delay(). A rerun goes on where this one stopped.',
    });
  }
  if ((code === '' && cutConnection.test(error.message)) || ending.test(code) || network.has(code)) {
    return new WriteCutOff(`The warehouse ended the connection during a write: ${error.message}`, {
      ...details,
      hint: "The server's log says why. A rerun goes on where this one stopped.",
    });
  }
  return error;
}

/**
 * Turns an error of `pg` into one with a kind. `retryable`: the same transaction may succeed on a new connection; `fatal`:
 * the address, the password or the privileges have to be corrected. Returns anything else unchanged.
 */
export function namedDatabaseError(error: unknown): unknown {
  if (error instanceof GmsiError || !(error instanceof Error)) return error;
  const code = (error as { code?: string }).code;
  const ofTls = tlsProblem(error);
  if (ofTls) return ofTls;
  const cut = code === undefined && cutConnection.test(error.message);
  if (cut || isStale(error) || (code && (passing.test(code) || network.has(code)))) {
    return new WarehouseUnavailable(`The warehouse does not answer: ${error.message}`, {
      cause: error,
      hint: 'Is PostgreSQL running at the address in DATABASE_URL? A rerun goes on where this one stopped.',
    });
  }
  switch (code) {
    case '53100':
      return new WarehouseFull(`The warehouse's disk is full: ${error.message}`, {
        cause: error,
        hint: 'Make room and run the same command again; it goes on where it stopped.',
      });
    case '28P01':
    case '28000':
      return new ConfigError(`The warehouse refuses the user: ${error.message}`, {
        cause: error,
        hint: 'Check user and password in DATABASE_URL.',
      });
    case '3D000':
      return new ConfigError(`The warehouse has no such database: ${error.message}`, {
        cause: error,
        hint: 'Create it (createdb), or correct DATABASE_URL.',
      });
    case '26000':
    case '42P05':
      return new ConfigError(`A pooler before the warehouse loses prepared statements: ${error.message}`, {
        cause: error,
        hint: 'Use the server itself, session pooling, or PgBouncer 1.21 or newer with max_prepared_statements.',
      });
    case '25006':
      return new ConfigError(`The warehouse can only be read: ${error.message}`, {
        cause: error,
        hint: 'Name the primary server in DATABASE_URL; or, if default_transaction_read_only is on for the user or the database, turn it off.',
      });
    case '42501':
      return new ConfigError(`The warehouse's user may not do this: ${error.message}`, {
        cause: error,
        hint: privileges,
      });
    default:
      return error;
  }
}
