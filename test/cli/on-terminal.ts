import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { movedTime } from '../support/moved-time.ts';
import { program } from './gmsi.ts';

/** Whether script(1) of util-linux is here, which makes a terminal for a program. */
export const hasScript = spawnSync('script', ['--version']).stdout?.includes('util-linux') ?? false;

/** Starts `gmsi` on a terminal of so many columns. */
export function startOnTerminal(
  args: readonly string[],
  columns: number,
  setting: { cwd: string; env: Record<string, string> },
) {
  const quoted = [process.execPath, program, ...args].map((word) => `'${word}'`).join(' ');
  const child = spawn('script', ['-qec', `stty cols ${columns}; exec ${quoted}`, '/dev/null'], {
    cwd: setting.cwd,
    env: { PATH: process.env.PATH, TERM: 'xterm', NO_COLOR: '1', ...movedTime, ...setting.env },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  let written = '';
  child.stdout.setEncoding('utf8').on('data', (text) => {
    written += text;
  });
  return {
    get written() {
      return written;
    },
    type: (keys: string) => child.stdin.write(keys),
    ended: once(child, 'close').then(([code]) => code as number),
  };
}

/** What a terminal shows after all of this, without the empty lines: enough of one for `\r`, `\n` and erasing. */
export function screenAfter(written: string, columns: number): string[] {
  const rows: string[][] = [[]];
  let column = 0;
  for (const [token] of written.matchAll(/\p{Cc}\[[0-9;?]*[A-Za-z]|[\s\S]/gu)) {
    if (token === '\r') column = 0;
    else if (token === '\n') rows.push([]);
    else if (token === '\x1b[K') rows.at(-1)!.length = Math.min(column, rows.at(-1)!.length);
    else if (!token.startsWith('\x1b')) {
      if (column === columns) {
        rows.push([]);
        column = 0;
      }
      rows.at(-1)![column++] = token;
    }
  }
  return rows
    .map((row) =>
      Array.from(row, (cell) => cell ?? ' ')
        .join('')
        .trimEnd(),
    )
    .filter((row) => row !== '');
}
