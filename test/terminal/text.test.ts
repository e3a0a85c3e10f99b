import { assert, property, string } from 'fast-check';
import { expect, it } from 'vitest';
import { createLog } from '../../src/terminal/log.ts';
import { paint, styled, withoutMarks } from '../../src/terminal/style.ts';
import { counts, daysFrom, facts, minute, ofLimit, sayingAsTyped, table } from '../../src/terminal/table.ts';
import { columnsOf, cutToFit, oneLine, printable, printableJson } from '../../src/terminal/text.ts';
import { commandNames } from '../support/typed-commands.ts';

/** Every kind of character that a terminal or an editor obeys rather than shows. */
const hostile = '\x1b]0;owned\x07\x1b[2J\x9b31m\u202eevil\u202c\u2066\u200b\u00ad\ufeff\u{e0041}\x7f\x00';
const anyText = string({ unit: 'binary' });

it('takes every control and format character out of what is printed, and leaves the rest', () => {
  expect(printable(`a${hostile}b\tc\r\nd`)).toBe('a]0;owned[2J31mevilb c\nd');
  assert(
    property(anyText, (text) => {
      expect(printable(text)).not.toMatch(/(?!\n)[\p{Cc}\p{Cf}]/u);
      expect(oneLine(text)).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
    }),
  );
});

it('prints JSON that says the same without them', () => {
  expect(printableJson(JSON.stringify('\x9b\u202e\u{e0041}\x7f'))).toBe(
    '"\\u009b\\u202e\\udb40\\udc41\\u007f"',
  );
  assert(
    property(anyText, (text) => {
      const document = { [text]: [text, { text }] };
      const json = printableJson(JSON.stringify(document, null, 2));
      expect(JSON.parse(json)).toEqual(JSON.parse(JSON.stringify(document)));
      expect(json).not.toMatch(/(?!\n)[\p{Cc}\p{Cf}]/u);
    }),
  );
});

it('keeps a name with line breaks in its cell, and the columns aligned beside names of any width', () => {
  expect(
    withoutMarks(
      table(
        ['code', 'name'],
        [
          ['US\ngmsi: forged', 'a'],
          ['日本', `b${hostile}`],
          ['e\u0301', 'c'],
        ],
      ),
    ),
  ).toBe(
    [
      'code             name',
      'US gmsi: forged  a',
      '日本             b]0;owned[2J31mevil',
      'e\u0301                c',
    ].join('\n'),
  );
  expect(withoutMarks(facts([['a\nb', 'c\r\nd\ufdd2']]))).toBe('a b  c d');
});

it.each(['\n', '\r\n', '\u2028', '\x85', '\x0b'])('writes an entry of the log in one line (%j)', (end) => {
  const forged = `US${end}WARN: forged${hostile}`;
  const lines = { person: '', machine: '' };
  for (const readable of [true, false]) {
    const write = (line: string) => {
      lines[readable ? 'person' : 'machine'] += withoutMarks(line);
    };
    createLog({ level: 'info', readable, to: { write } }).warn(
      { [forged]: forged, err: new Error(forged) },
      forged,
    );
  }
  expect(lines.person).toMatch(/^WARN: US .*\n$/);
  for (const line of Object.values(lines)) {
    expect(line.match(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu)).toEqual(['\n']);
  }
  expect(JSON.parse(lines.machine)).toMatchObject({ msg: forged, [forged]: forged });
});

it('leaves out whole words and numbers if a line is too long', () => {
  expect(cutToFit('12 of 1,234 windows', 11)).toBe('12 of 1,234');
  expect(cutToFit('12 of 1,234 windows', 10)).toBe('12 of');
  expect(cutToFit('日本語 x', 6)).toBe('日本語');
  expect(cutToFit('日本語 x', 5)).toBe('…');
  expect(columnsOf('👍a\u0301한')).toBe(5);
});

it('paints what is marked where there are colours, and leaves no mark anywhere', () => {
  const text = `${styled('dim', 'head')} ${styled('red', 'failed')} \ufdd3cut`;
  expect(paint(text, true)).toBe('\x1b[2mhead\x1b[22m \x1b[31mfailed\x1b[39m cut');
  expect(paint(text, false)).toBe('head failed cut');
});

it('writes the facts of an entry behind its message, without JSON', () => {
  let line = '';
  const write = (text: string) => {
    line += withoutMarks(text);
  };
  createLog({ level: 'info', readable: true, to: { write } }).warn(
    { window: 3, country: 'US', topic: null, why: 'refused (422)' },
    'a window failed',
  );
  expect(line).toBe('WARN: a window failed: refused (422) (window 3, country US)\n');
});

it('counts without zeros, unless there is nothing else', () => {
  expect(counts([0, 'drained'], [5, 'failed'], [0, 'left'])).toBe('5 failed');
  expect(counts([0, 'drained'], [0, 'failed'])).toBe('0 drained');
});

it('writes times, days and limits in one way', () => {
  expect(minute('2026-12-01T00:00:00.000Z')).toBe('2026-12-01 00:00');
  expect(daysFrom('2026-11-22', '2026-11-24')).toBe('2026-11-22 to 2026-11-24');
  expect(daysFrom('2026-11-24', '2026-11-24')).toBe('2026-11-24');
  expect(ofLimit(45, 60)).toBe('45 of 60 requests');
  expect(ofLimit(309, 60)).toBe('309 requests (the limit is 60)');
});

it('says commands in a sentence as the program was started, and leaves its name alone', () => {
  const { argv } = process;
  const told = (script: string) => {
    process.argv = ['node', script];
    return sayingAsTyped('Run gmsi lookups first, or npx gmsi init; gmsi refuses the rest.');
  };
  expect(told('/app/node_modules/.bin/gmsi')).toBe(
    'Run npx gmsi lookups first, or npx gmsi init; gmsi refuses the rest.',
  );
  expect(told('/usr/local/bin/gmsi')).toContain('Run gmsi lookups first');
  process.argv = ['node', '/app/node_modules/.bin/gmsi'];
  for (const name of commandNames) expect(sayingAsTyped(`Run gmsi ${name}.`)).toBe(`Run npx gmsi ${name}.`);
  process.argv = argv;
});
