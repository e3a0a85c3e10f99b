import { type DestinationStream, destination, type Logger, pino } from 'pino';
import pretty from 'pino-pretty';
import type { LogLevel } from './config.ts';

export type Log = Logger;

export interface LogOptions {
  readonly level: LogLevel;
  /** One readable line an entry, for people; else one JSON document an entry, for machines. */
  readonly readable: boolean;
  /** Where entries go; standard error unless a test says otherwise. */
  readonly to?: DestinationStream;
}

/** The run's log. Written at once and to standard error only: results own standard output. */
export function createLog({ level, readable, to }: LogOptions): Log {
  const stream = readable
    ? pretty({
        sync: true,
        destination: to ?? 2,
        colorize: process.stderr.isTTY === true,
        ignore: 'pid,hostname,time',
        singleLine: true,
      })
    : (to ?? destination({ fd: 2, sync: true }));
  return pino({ level, base: null, redact: ['apiKey', '*.apiKey', 'headers["x-api-key"]'] }, stream);
}
