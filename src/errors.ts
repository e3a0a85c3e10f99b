import { getSystemErrorMap } from 'node:util';

/**
 * How a load reacts to an error:
 * - `retryable`: the same request may succeed later; retried in place, then the window fails and a rerun continues with it
 * - `skippable`: this window (or record) cannot be loaded; the load continues without it and says so
 * - `budget`: no further request may be sent; the load ends normally, and a later run continues it
 * - `fatal`: nothing else can succeed either; the load ends and must not be retried as it is
 * - `warehouse`: the warehouse does not answer or takes no writes; the load ends as incomplete, and a rerun continues it
 * - `job`: the job and the service do not match in some part; the load continues without that part, and a person looks at it
 */
export type ErrorKind = 'retryable' | 'skippable' | 'budget' | 'fatal' | 'warehouse' | 'job';

/**
 * Why a window could not be loaded. What cures it depends on this alone; see `answer/cures.ts`.
 * - `temporary`: the service or the database did not answer as usual, which may be over by now
 * - `withdrawn`: too many rows of its days were not sent again
 * - `refused`: the service refused the request
 * - `too old`: it was refused, and only younger days of the series are loaded
 * - `rejected`: too many of its records could not be read
 * - `new fields`: a record has a field that the job does not want
 * - `other days`: the records are of days that were not requested
 * - `too large`: a page does not fit into memory
 * - `cursor`: the cursor ends nowhere, or was refused
 * - `unexpected`: an error that this program does not know
 */
export const causeCodes = [
  'temporary',
  'withdrawn',
  'refused',
  'too old',
  'rejected',
  'new fields',
  'other days',
  'too large',
  'cursor',
  'unexpected',
] as const;
export type CauseCode = (typeof causeCodes)[number];

/** `hint` is one line that says what to do; `cause` keeps the error that was caught, for `--verbose`. */
export interface ErrorDetails {
  readonly hint?: string;
  readonly cause?: unknown;
}

/** The base of every error that this program throws on purpose. Code decides by `kind`, never by the message. */
export abstract class GmsiError extends Error {
  abstract readonly kind: ErrorKind;
  /** What it is the cause of if it ends a window. */
  readonly causeCode: CauseCode = 'temporary';
  readonly hint: string | undefined;

  constructor(message: string, details: ErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = new.target.name;
    this.hint = details.hint;
  }
}

/** Returns the kind of an error; `undefined` if this program did not throw it on purpose. */
export function kindOf(error: unknown): ErrorKind | undefined {
  return error instanceof GmsiError ? error.kind : undefined;
}

/** Returns the reason for an error of the operating system without code, call and path; for other errors the message. */
export function systemReason(error: unknown): string {
  const { errno, syscall, message } = error as NodeJS.ErrnoException;
  // Errors of other libraries have numbers of their own.
  const reason = syscall === undefined ? undefined : getSystemErrorMap().get(errno ?? 0)?.[1];
  return reason ?? message;
}

/** A wrong setting, argument, job file or address, which a person has to correct. */
export class ConfigError extends GmsiError {
  override readonly kind = 'fatal';
}

/** Limits and permissions of the machine. Other errors of the operating system may be a bug. */
const ofMachine = /^(uv_cwd|uv_os_homedir|EMFILE|ENFILE|ENOSPC|EDQUOT|EROFS|EACCES|EPERM|EIO)$/;

const plainCalls: Readonly<Record<string, string>> = {
  uv_cwd: 'the working folder',
  uv_os_homedir: "the user's home folder",
};

/** Turns an error of the machine, such as a limit or a missing permission, into one that says so; returns any other unchanged. */
export function namedSystemError(error: unknown): unknown {
  if (error instanceof GmsiError || !(error instanceof Error)) return error;
  const { code = '', syscall, path, address } = error as NodeJS.ErrnoException & { address?: string };
  if (!syscall || !(ofMachine.test(syscall) || ofMachine.test(code))) return error;
  const what = [plainCalls[syscall] ?? syscall, path ?? address].filter(Boolean).join(' ');
  return new ConfigError(`The system refuses ${what}: ${systemReason(error)}`, {
    cause: error,
    hint: 'Use a folder that exists, give the permission or raise the limit (ulimit -n 1024), and run it again.',
  });
}

/** Returns what an error says, and what to do: for whoever sees nothing else of it. */
export function withHint(error: unknown): string {
  const { message = String(error), hint } = error as Partial<GmsiError>;
  return hint ? `${sentence(message)} ${hint}` : message;
}

/** Returns a message with the full stop that it needs before another sentence. */
export function sentence(message: string): string {
  return /[.!?…]$/.test(message) ? message : `${message}.`;
}
