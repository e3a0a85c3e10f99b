import type { Log } from '../../src/log.ts';
import { createLog } from '../../src/terminal/log.ts';

export interface LogLine {
  readonly level: number;
  readonly msg: string;
  readonly [field: string]: unknown;
}

/** A log whose lines a test can look at. */
export function aLog(): { readonly log: Log; readonly lines: LogLine[] } {
  const lines: LogLine[] = [];
  const write = (line: string) => void lines.push(JSON.parse(line));
  return { log: createLog({ level: 'debug', readable: false, to: { write } }), lines };
}
