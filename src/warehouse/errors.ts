import { ConfigError, GmsiError } from '../errors.ts';
import { inPackage } from '../package.ts';
import { tlsProblem } from './tls.ts';

const operating = inPackage('docs/operating.md');

/** The warehouse did not answer, or takes no writes: a restart, a failover, a cut connection, too many connections. */
export class WarehouseUnavailable extends GmsiError {
  override readonly kind = 'warehouse';
  /** False if trying again at once does not help. */
  readonly mayPass: boolean = true;
}

/** The warehouse's disk is full. Once there is space, a rerun loses nothing. */
export class WarehouseFull extends WarehouseUnavailable {
  override readonly mayPass = false;
}

/** The clocks of the warehouse and of this machine are far apart: the times that it would store would be wrong for good. */
export class WarehouseClockWrong extends WarehouseUnavailable {
  override readonly mayPass = false;

  constructor(what: string, cause?: unknown) {
    super(`The clocks of this machine and the warehouse's server are too far apart: ${what}.`, {
      cause,
      hint: 'Fix the wrong clock (NTP) and run it again. Nothing was stored with a wrong time.',
    });
  }
}

/** A write of rows that is tried again in a new transaction. */
export class WriteFailed extends WarehouseUnavailable {
  /**
   * - `cut off`: its connection broke, because the server restarted or this write crashed it
   * - `too slow`: it took longer than half of `gmsi.as_of_delay()`, so the server did not commit it
   * - `locked`: it waited too long for another session's lock
   * - `crossed`: another session inserted one of the same rows at the same time, or rows break a unique index that a team has
   *   added
   */
  readonly why: 'cut off' | 'too slow' | 'locked' | 'crossed';

  constructor(why: WriteFailed['why'], message: string, { cause, hint }: { cause: Error; hint: string }) {
    super(message, { cause, hint: `${hint} A rerun continues where this one stopped.` });
    this.why = why;
  }
}

/** For several minutes, another session has held a lock that gmsi needs. */
export class LockHeld extends GmsiError {
  override readonly kind = 'retryable';
}

/**
 * Another load has taken over the window or file, because this load was silent for longer than its lease. The page is dropped.
 */
export class ClaimLost extends GmsiError {
  override readonly kind = 'skippable';
}

/** The schema, a table or a column of it does not exist: somebody dropped it, or is restoring it. */
export class SchemaGone extends ConfigError {
  constructor(message: string, cause: unknown) {
    const hint = 'If somebody is restoring it, wait until that is done; else gmsi doctor says what to do.';
    super(`A part of the warehouse's schema is gone: ${message}`, { cause, hint });
  }
}

/** A write failed several times and may itself be the cause. It is dropped, and the load continues without it. */
export class WriteGivenUp extends GmsiError {
  override readonly kind = 'skippable';
}

/**
 * Class 08 connection exceptions, 40001/40P01 serialisation and deadlock, 53300 connections, 57P0x shutting down, and the
 * time limits by which a server ends a connection: 25P03 and 25P04 in a transaction, 57P05 idle.
 */
const passing = /^(08...|25P0[34]|40001|40P01|53300|57P0[1-35])$/;
/** The server ended a session: it shut down or crashed, or the session was idle in a transaction. */
const ending = /^(08...|57P0[1-35]|25P03)$/;

/** Errors that repeat on the same connection but not on a new one, by code and server function. */
const stale = [
  // A row found no partition. Each partition is made before its rows are written, so this connection does not know it yet:
  // seen on PostgreSQL 15 if another connection attaches it at that moment.
  '23514 ExecFindPartition',
  // A table has got a column since this connection prepared the statement.
  '0A000 RevalidateCachedQuery',
];

/** A server takes no writes for the seconds of a failover; if it is a standby now, a new connection may lead to the primary. */
const onlyRead = '25006';

/** Returns true if an error repeats on the same connection but not on a new one. */
export function isStale(error: unknown): boolean {
  // By the reporting function, not by the message, which may be in any language.
  const { code, routine } = error as { code?: string; routine?: string };
  return code === onlyRead || stale.includes(`${code} ${routine}`);
}

/** Returns true if a policy would have hidden rows. By the server's function: the code is that of every missing privilege. */
export function isOfRowSecurity(error: unknown): boolean {
  return (error as { routine?: string }).routine === 'check_enable_rls';
}

/**
 * A host that is unknown or not reached is passing, too, in the middle of a load; at its beginning, `firstAnswer` treats it as a
 * wrong address. ERR_…: a write after the other end, or a time limit here, has closed the connection.
 */
const network =
  /^(ECONN(REFUSED|RESET|ABORTED)|EPIPE|ETIMEDOUT|ENOTCONN|EHOST(UNREACH|DOWN)|ENET(UNREACH|DOWN|RESET)|EAI_AGAIN|ENOTFOUND|ERR_(STREAM|SOCKET)_\w+)$/;
/** pg's messages, which have no code, for connections that could not be opened or ended during a query. */
const cutConnection =
  /^(Connection terminated|Client has encountered a connection error|Client was closed and is not queryable|Query read timeout|timeout e)/;

/** Turns an error of a transaction that writes rows into one with a kind; returns any other unchanged. */
export function namedWriteError(error: unknown): unknown {
  if (error instanceof GmsiError || !(error instanceof Error)) return error;
  const { code = '', message } = error as Error & { code?: string };
  const failed = (why: WriteFailed['why'], what: string, hint: string) =>
    new WriteFailed(why, what, { cause: error, hint });
  if (code === '55P03') {
    const hint = 'End that session or its transaction (pg_stat_activity shows it).';
    return failed('locked', 'Another session holds a lock on what this load writes', hint);
  }
  // A unique index that a team has added is checked without ON CONFLICT, so it may be the one that reports the other session.
  if (code === '23505') {
    return failed('crossed', 'Another session writes the same rows', 'End it, or wait for its end.');
  }
  if (code === '25P04' || code === '57014') {
    const hint = `If the disk is slow, lower service.page_size, or raise gmsi.as_of_delay() ("Locks and slow disks" in ${operating}).`;
    return failed('too slow', `Writing took too long: ${message}`, hint);
  }
  if ((code === '' && cutConnection.test(message)) || ending.test(code) || network.test(code)) {
    const hint = "The server's log says why; a smaller service.page_size in the job file may help.";
    return failed('cut off', `The warehouse ended the connection during a write: ${message}`, hint);
  }
  return error;
}

export const takesNoWrites =
  'After a failover, run it again. Otherwise name the primary server in DATABASE_URL, or turn off ' +
  'default_transaction_read_only for the user or the database.';

const checkUser = ['The warehouse refuses the user', 'Check user and password in DATABASE_URL.'] as const;
/** Errors that the user must correct, by the server's code, and how. */
const toCorrect: Readonly<Record<string, readonly [what: string, hint: string]>> = {
  '28P01': checkUser,
  '28000': checkUser,
  '3D000': ['The warehouse has no such database', 'Create it (createdb), or correct DATABASE_URL.'],
  '42501': [
    "The warehouse's user may not do this",
    `gmsi doctor shows which privileges the user lacks; how to grant them: "Privileges" in ${operating}`,
  ],
};

/**
 * Turns an error of `pg` into one with a kind. `warehouse`: the same transaction may succeed on a new connection; `fatal`:
 * the address, the password or the privileges have to be corrected. Returns anything else unchanged.
 */
export function namedDatabaseError(error: unknown): unknown {
  if (error instanceof GmsiError || !(error instanceof Error)) return error;
  const { code = '', message } = error as Error & { code?: string };
  const cause = error;
  const unavailable = (what: string, hint: string) =>
    new WarehouseUnavailable(`${what}: ${message}`, { cause, hint });
  const ofTls = tlsProblem(error);
  if (ofTls) return ofTls;
  if (code === onlyRead) return unavailable('The warehouse can only be read', takesNoWrites);
  if (code === '53300')
    return unavailable(
      'The warehouse has no free connection',
      'End sessions that are not needed (pg_stat_activity shows them), or raise max_connections or the ' +
        'connection limit of the user. A rerun continues where this one stopped.',
    );
  // The warehouse was moved, or is being filled (gmsi.refuse_moved).
  if (code === 'GM001')
    return new ConfigError(message, { cause, hint: (error as { hint?: string }).hint ?? '' });
  if (code === 'GM002') return new WarehouseClockWrong(message, cause);
  const isCut = code === '' && cutConnection.test(message);
  if (isCut || isStale(error) || passing.test(code) || network.test(code))
    return unavailable(
      'The warehouse does not answer',
      'Is PostgreSQL running at the address in DATABASE_URL? A rerun continues where this one stopped.',
    );
  if (code === '55P03') {
    const hint = 'End that session (pg_stat_activity shows it), and run the command again.';
    return new LockHeld('For several minutes, another session has held a lock that gmsi needs.', {
      cause,
      hint,
    });
  }
  if (code === '53100') {
    const hint = 'Make room and run the same command again; it continues where it stopped.';
    return new WarehouseFull(`The warehouse's disk is full: ${message}`, { cause, hint });
  }
  if (isOfRowSecurity(error))
    return new ConfigError(`Row-level security hides rows from the warehouse's user: ${message}`, {
      cause,
      hint:
        'gmsi needs every row. Let a superuser run: alter role … bypassrls; (the user of gmsi; for checks ' +
        'and the page, gmsi_reader)',
    });
  // The message of a missing column does not name the schema.
  if (code === '42703' || (/^(3F000|42P01|42883)$/.test(code) && /\bgmsi\b/.test(message)))
    return new SchemaGone(message, cause);
  const [what, hint] = toCorrect[code] ?? [];
  return what && hint ? new ConfigError(`${what}: ${message}`, { cause, hint }) : error;
}

/** Returns an error for the log: only the message of a named error, else the stack as well. */
export function forLog(error: unknown): { readonly why: string } | { readonly err: unknown } {
  const named = namedDatabaseError(error);
  return named instanceof GmsiError ? { why: named.message } : { err: error };
}
