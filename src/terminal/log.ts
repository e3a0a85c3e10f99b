import { pino } from 'pino';
import type { LogLevel } from '../config/environment.ts';
import type { Log } from '../log.ts';
import { printError } from './print.ts';
import { type Style, styled } from './style.ts';
import { oneLine, printableJson } from './text.ts';

interface LogOptions {
  readonly level: LogLevel;
  /** One readable line per entry, for people; else one JSON document per entry, for machines. */
  readonly readable: boolean;
  /** Where entries go; standard error unless a test says otherwise. */
  readonly to?: { write(line: string): void };
}

/** Creates the log. It is written at once, and only to standard error, because results go to standard output. */
export function createLog({ level, readable, to = { write: printError } }: LogOptions): Log {
  const write = (entry: string) => to.write(readable ? readableLine(entry) : printableJson(entry));
  return pino({ level, base: null, redact: ['apiKey', '*.apiKey', 'headers["x-api-key"]'] }, { write });
}

/** `WARN: what happened: why (window 3, country US)`, always in one line. */
function readableLine(entry: string): string {
  const { level, time: _, msg = '', why, ...more } = JSON.parse(entry);
  const label: string = pino.levels.labels[level] ?? 'info';
  const facts = Object.entries(more)
    .filter(([, value]) => value !== null)
    .map(([name, value]) => `${name} ${factOf(value)}`);
  const about = facts.length > 0 ? ` (${facts.join(', ')})` : '';
  const text = oneLine(`${msg}${why === undefined ? '' : `: ${factOf(why)}`}${about}`);
  const style = styles[label];
  const head = `${label.toUpperCase()}:`;
  return `${style ? styled(style, head) : head} ${text}\n`;
}

const styles: Readonly<Record<string, Style>> = {
  trace: 'dim',
  debug: 'dim',
  warn: 'yellow',
  error: 'red',
  fatal: 'red',
};

function factOf(value: unknown): string {
  if (typeof value !== 'object' || value === null) return String(value);
  return 'message' in value ? String(value.message) : JSON.stringify(value);
}
