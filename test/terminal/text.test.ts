import { assert, property, string } from 'fast-check';
import { expect, it } from 'vitest';
import { createLog } from '../../src/terminal/log.ts';
import { facts, table } from '../../src/terminal/table.ts';
import {
  columnsOf,
  oneLine,
  printable,
  printableJson,
  shortened,
  wholeWords,
} from '../../src/terminal/text.ts';

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
    table(
      ['code', 'name'],
      [
        ['US\ngmsi: forged', 'a'],
        ['日本', `b${hostile}`],
        ['e\u0301', 'c'],
      ],
    ),
  ).toBe(
    [
      'code             name',
      'US gmsi: forged  a',
      '日本             b]0;owned[2J31mevil',
      'e\u0301                c',
    ].join('\n'),
  );
  expect(facts([['a\nb', 'c\r\nd']])).toBe('a b  c d');
});

it.each(['\n', '\r\n', '\u2028', '\x85', '\x0b'])(
  'writes an entry of the log in one line, whatever it holds (%j)',
  (end) => {
    const forged = `US${end}WARN: forged${hostile}`;
    const lines = { person: '', machine: '' };
    for (const readable of [true, false]) {
      const write = (line: string) => {
        lines[readable ? 'person' : 'machine'] += line;
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
  },
);

it('leaves out whole words and numbers if a line is too long', () => {
  expect(wholeWords('12 of 1,234 windows', 11)).toBe('12 of 1,234');
  expect(wholeWords('12 of 1,234 windows', 10)).toBe('12 of');
  expect(wholeWords('日本語 x', 6)).toBe('日本語');
  expect(wholeWords('日本語 x', 5)).toBe('…');
  expect(shortened('日本語', 5)).toBe('日本…');
  expect(columnsOf(`👍a\u0301한${'\u200b'}`)).toBe(5);
});
