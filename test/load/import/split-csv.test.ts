import { stringify } from 'csv-stringify/sync';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { CsvSplitter } from '../../../src/load/import/split-csv.ts';

function split(pieces: readonly (string | Buffer)[], longest = 1000) {
  const splitter = new CsvSplitter(longest);
  return [...pieces, ''].flatMap((piece, at) => {
    splitter.push(Buffer.from(piece), at === pieces.length);
    const found: { cells: string[]; line: number }[] = [];
    while (splitter.next()) {
      const cells = Array.from({ length: splitter.cells }, (_, cell) => splitter.textAt(cell));
      found.push({ cells, line: splitter.recordLine });
    }
    return found;
  });
}

const cellsOf = (text: string) => split([text]).map(({ cells }) => cells);

test('what another program writes is read back, wherever it is cut into pieces', () => {
  const cell = fc.string({
    unit: fc.constantFrom('a', ',', '"', '\n', '\r\n', ' ', 'é', '😀'),
    maxLength: 6,
  });
  const rows = fc.array(fc.tuple(cell, cell, cell), { minLength: 1, maxLength: 6 });
  fc.assert(
    fc.property(rows, fc.constantFrom('\n', '\r\n'), fc.array(fc.nat(60)), (records, ending, cuts) => {
      const text = stringify([['x', 'y', 'z'], ...records], {
        record_delimiter: ending,
        // As RFC 4180 wants it: such a cell is always quoted.
        quoted_match: /[\r\n]/,
      });
      // Also within a character.
      const bytes = Buffer.from(text);
      const places = [0, ...cuts.filter((at) => at < bytes.length).sort((a, b) => a - b), bytes.length];
      const pieces = places.slice(1).map((at, index) => bytes.subarray(places[index], at));
      expect(split(pieces).map(({ cells }) => cells)).toEqual([['x', 'y', 'z'], ...records]);
    }),
  );
});

test('each record has the line on which it begins, also after line breaks within cells and empty lines', () => {
  const found = split(['a,b\n"x\ny",1\n\n2,3\r\n']);
  expect(found.map(({ line, cells }) => [line, ...cells])).toEqual([
    [1, 'a', 'b'],
    [2, 'x\ny', '1'],
    [5, '2', '3'],
  ]);
});

test.each([
  ['a;b\n1;2', ['1', '2']],
  ['a\tb\n1\t2', ['1', '2']],
  ['a,b;c\n1,2;3', ['1', '2;3']],
  ['a,b\n,', ['', '']],
  ['a,b\n"",""', ['', '']],
  ['\ufeffa;b\n1;2', ['1', '2']],
])('the header of %j says what stands between cells', (text, cells) => {
  expect(cellsOf(text)[1]).toEqual(cells);
});

describe('refuses, with the line,', () => {
  test.each([
    ['a quote that is never closed', 'a,b\n1,2\n3,"4\n5,6\n', 'a quote is never closed', 3],
    ['a text after a closing quote', 'a,b\n"1"x,2\n', 'a quote does not end where its cell ends', 2],
    ['a quote in a plain cell', 'a,b\n1,2"\n', 'a quote stands within a cell that is not quoted', 2],
    [
      'a record that is too long',
      `a,b\n1,2\n${'x'.repeat(1001)},2\n`,
      'a record is longer than 1000 bytes',
      3,
    ],
    ['a line without end', `a,b\n${'x'.repeat(5000)}`, 'a record is longer than 1000 bytes', 2],
  ])('%s', (_what, text, message, line) => {
    expect(() => split([text])).toThrow(expect.objectContaining({ message, line }));
    expect(() => split([...text])).toThrow(expect.objectContaining({ message, line }));
  });
});
