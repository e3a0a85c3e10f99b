import { type Logger, pino } from 'pino';
import type { LogLevel } from './config/environment.ts';
import { errorOutput } from './terminal/print.ts';
import { oneLine, printableJson } from './terminal/text.ts';

export type Log = Logger;

export interface LogOptions {
  readonly level: LogLevel;
  /** One readable line an entry, for people; else one JSON document an entry, for machines. */
  readonly readable: boolean;
  /** Where entries go; standard error unless a test says otherwise. */
  readonly to?: { write(line: string): void };
}

/** The run's log. Written at once and to standard error only: results own standard output. */
export function createLog({ level, readable, to = errorOutput }: LogOptions): Log {
  const write = (entry: string) => to.write(readable ? readableLine(entry) : printableJson(entry));
  return pino({ level, base: null, redact: ['apiKey', '*.apiKey', 'headers["x-api-key"]'] }, { write });
}

/** `WARN: what happened {"why":"…"}`, in one line whatever the entry holds. */
function readableLine(entry: string): string {
  const { level, time: _, msg = '', ...more } = JSON.parse(entry);
  const about = Object.keys(more).length > 0 ? ` ${JSON.stringify(more)}` : '';
  return `${oneLine(`${pino.levels.labels[level]?.toUpperCase()}: ${msg}${about}`)}\n`;
}

/** How long nobody wonders, in milliseconds. */
const patience = 3_000;

/** Does something, and calls `say` once if it takes longer than three seconds. */
export async function sayIfSlow<T>(say: () => void, work: () => Promise<T>): Promise<T> {
  const timer = setTimeout(say, patience);
  try {
    return await work();
  } finally {
    clearTimeout(timer);
  }
}

/** What to say then. */
export function waitingFor(what: string, reason: Error | undefined): string {
  return `waiting for ${what}: ${reason ? reason.message : 'it has not answered yet'}`;
}
