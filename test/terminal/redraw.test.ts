import { expect, it } from 'vitest';
import type { Output } from '../../src/terminal/print.ts';
import { redrawing, StatusLine } from '../../src/terminal/status-line.ts';

it('draws each text over the last on a terminal, and leaves nothing of it behind', () => {
  const terminal = aTerminal({ columns: 20, rows: 10 });
  const draw = redrawing(terminal.stream);
  draw('one\ntwo longer\nthree');
  expect(terminal.screen()).toEqual(['one', 'two longer', 'three']);
  draw('one\n2');
  expect(terminal.screen()).toEqual(['one', '2']);
  draw('1\n2\n3\n4');
  expect(terminal.screen()).toEqual(['1', '2', '3', '4']);
  // In one write each, and without another mode of the terminal that a kill would leave behind.
  expect(terminal.writes).toHaveLength(3);
  expect(terminal.writes.join('')).not.toContain('\x1b[?');
});

it('leaves out the words that would wrap, and the lines that would scroll away', () => {
  const terminal = aTerminal({ columns: 8, rows: 4 });
  const draw = redrawing(terminal.stream);
  draw('a line too long\n2\n3\n4\n5');
  expect(terminal.screen()).toEqual(['a line', '2', '3']);
  draw('a line as long\nb\nc\nd\ne');
  expect(terminal.screen()).toEqual(['a line', 'b', 'c']);
});

it('draws everything again after a resize, because the terminal has wrapped the old lines', () => {
  const terminal = aTerminal({ columns: 20, rows: 10 });
  const draw = redrawing(terminal.stream);
  draw('one\ntwo');
  terminal.stream.columns = 10;
  draw('one\ntwo');
  expect(terminal.writes).toHaveLength(2);
  expect(terminal.writes[1]?.startsWith('\x1b[H\x1b[2Jone')).toBe(true);
});

it('draws a status at its begin, also if a narrower terminal has wrapped it', () => {
  const terminal = aTerminal({ columns: 40 });
  const line = new StatusLine(terminal.stream);
  line.show('x'.repeat(30));
  terminal.stream.columns = 12;
  line.show('yes');
  expect(terminal.writes[1]).toBe('\r\x1b[2A\x1b[Jyes\x1b[K');
});

it('writes texts one after the other elsewhere, those that differ', () => {
  const file = aTerminal({ isTTY: false });
  const draw = redrawing(file.stream);
  for (const text of ['a\nb', 'a\nb', 'c']) draw(text);
  expect(file.writes).toEqual(['a\nb\n\n', 'c\n\n']);
});

/** As much of a terminal as redrawing uses. */
function aTerminal({ columns = 80, rows = 24, isTTY = true }) {
  const writes: string[] = [];
  const stream = { columns, rows, isTTY, hasColours: false, write: (text: string) => void writes.push(text) };
  return {
    stream: stream as Output & { columns: number },
    writes,
    screen() {
      const lines: string[] = [''];
      let row = 0;
      let column = 0;
      for (const [token, up] of writes.join('').matchAll(/\p{Cc}\[(\d*)[A-Z]|[\s\S]/gu)) {
        if (token === '\n') {
          row++;
          column = 0;
          lines[row] ??= '';
        } else if (token === '\r') column = 0;
        else if (token === '\x1b[K') lines[row] = lines[row]!.slice(0, column);
        else if (token === '\x1b[J') lines.splice(row, lines.length, lines[row]!.slice(0, column));
        else if (token.startsWith('\x1b')) row -= Number(up);
        else lines[row] = lines[row]!.slice(0, column) + token + lines[row]!.slice(++column);
      }
      return lines.filter((line) => line !== '');
    },
  };
}
