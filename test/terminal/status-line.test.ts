import { expect, it } from 'vitest';
import { StatusLine } from '../../src/terminal/status-line.ts';

it('draws a status at its begin, also if a narrower terminal has wrapped it', () => {
  const writes: string[] = [];
  const write = (text: string | Uint8Array) => void writes.push(String(text));
  const terminal = { columns: 40, isTTY: true, hasColours: false, write };
  const line = new StatusLine(terminal);
  line.show('x'.repeat(30));
  terminal.columns = 12;
  line.show('yes');
  expect(writes[1]).toBe('\r\x1b[2A\x1b[Jyes\x1b[K');
});
