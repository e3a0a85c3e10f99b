import { array, assert, constantFrom, integer, property } from 'fast-check';
import { expect, it } from 'vitest';
import { shown } from '../../src/terminal/print.ts';
import { command, styled, withoutMarks } from '../../src/terminal/style.ts';
import { columnsOf } from '../../src/terminal/text.ts';
import { wrapped } from '../../src/terminal/wrap.ts';

it.each([
  ['a message', 'gmsi: There is no job file de-food.', ['gmsi: There is no', 'job file de-food.']],
  ['a hint', '  → Jobs in jobs: demo, all-history', ['  → Jobs in jobs:', '    demo,', '    all-history']],
  ['a row, below its last column', 'a:1:7  feed  found "x" here', ['a:1:7  feed  found', '       "x" here']],
  ['not what fits', 'exactly twenty chars', ['exactly twenty chars']],
  [
    'not a word that fits nowhere',
    'in /a/path/longer/than/the/line now',
    ['in /a/path/longer/than/the/line', 'now'],
  ],
])('wraps %s', (_, line, lines) => {
  expect(wrapped(line, 20).split('\n')).toEqual(lines);
});

it('keeps a command whole, because a person copies it', () => {
  const line = `Next: ${command('gmsi plan jobs')}`;
  expect(withoutMarks(wrapped(line, 16))).toBe('Next:\ngmsi plan jobs');
  expect(withoutMarks(wrapped(line, 8))).toBe('Next: gmsi plan jobs');
});

it('wraps on a terminal only', () => {
  const out = { columns: 8, hasColours: false };
  expect(shown('one two three', { ...out, isTTY: true })).toBe('one two\nthree');
  expect(shown('one two three', { ...out, isTTY: false })).toBe('one two three');
});

it('keeps every word and its style, and exceeds the width only with a word that fits nowhere', () => {
  const word = constantFrom('a', 'some', 'words', '日本語', styled('red', 'failed'), '  ');
  assert(
    property(array(word), integer({ min: 20, max: 60 }), (words, columns) => {
      const lines = wrapped(words.join(' '), columns).split('\n');
      expect(lines.join(' ').split(/ +/).filter(Boolean)).toEqual(
        words.join(' ').split(/ +/).filter(Boolean),
      );
      for (const line of lines) expect(columnsOf(line)).toBeLessThanOrEqual(columns);
    }),
  );
});
