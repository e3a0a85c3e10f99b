import { pino } from 'pino';
import type { LogLevel } from '../config/environment.ts';
import type { Log } from '../log.ts';
import { errorOutput } from './print.ts';
import { oneLine, printableJson } from './text.ts';

export interface LogOptions {
  readonly level: LogLevel;
  /** One readable line per entry, for people; else one JSON document per entry, for machines. */
  readonly readable: boolean;
  /** Where entries go; standard error unless a test says otherwise. */
  readonly to?: { write(line: string): void };
}

/** Creates the log. It is written at once, and only to standard error, because results go to standard output. */
export function createLog({ level, readable, to = errorOutput }: LogOptions): Log {
  const write = (entry: string) => to.write(readable ? readableLine(entry) : printableJson(entry));
  return pino({ level, base: null, redact: ['apiKey', '*.apiKey', 'headers["x-api-key"]'] }, { write });
}

/** `WARN: what happened {"why":"…"}`, always in one line. */
function readableLine(entry: string): string {
  const { level, time: _, msg = '', ...more } = JSON.parse(entry);
  const about = Object.keys(more).length > 0 ? ` ${JSON.stringify(more)}` : '';
  return `${oneLine(`${pino.levels.labels[level]?.toUpperCase()}: ${msg}${about}`)}\n`;
}
