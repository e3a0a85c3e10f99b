import { expect, test } from 'vitest';
import { parseCheck } from '../../src/check/check-file.ts';
import { cases } from '../support/cases.ts';

const feeds = ['gmsi-headlines', 'ticker-headlines'];
const parse = (text: string) => parseCheck('jobs/checks/own.sql', text, feeds);

/** A check file with this head, and a query. */
function aFile(...head: string[]): string {
  return `${['-- check: Nothing is wrong', '-- why: It must not be.', ...head].join('\n')}\n\nselect 1 where false;\n`;
}

test('a check file says what it checks, why, for which feeds and how severely', () => {
  const text = aFile(
    '-- feeds: gmsi-headlines, ticker-headlines',
    '-- severity: warn',
    '-- needs: gmsi.headlines',
    '-- Any other comment, such as https://example.com: it is left alone.',
  );
  expect(parse(text)).toEqual({
    name: 'own',
    path: 'jobs/checks/own.sql',
    title: 'Nothing is wrong',
    why: 'It must not be.',
    feeds,
    severity: 'warn',
    needs: ['gmsi.headlines'],
    totals: [],
    query: text.trimEnd().slice(0, -1),
  });
});

test('a check that says no more is for GMSI headlines, and fails', () => {
  expect(parse(aFile())).toMatchObject({ feeds: ['gmsi-headlines'], severity: 'fail', needs: [] });
  expect(parse(aFile('-- feeds: all')).feeds).toEqual(['all']);
});

test('a file with line ends of Windows is read alike', () => {
  const { query, ...said } = parse(aFile('-- severity: warn'));
  expect(parse(aFile('-- severity: warn').replaceAll('\n', '\r\n'))).toMatchObject(said);
});

test('comments after the beginning of the query are no head', () => {
  expect(parse(`${aFile()}-- severity: warn`).severity).toBe('fail');
});

test.each(cases`
  no title | why: x\nselect 1 | own\.sql: "-- check:" must say what is checked | reference\.md
  no reason | check: x\nselect 1 | own\.sql: "-- why:" must say what a finding means | reference\.md
  no query | check: x\n-- why: y\n\n | own\.sql: it contains no query | reference\.md
  a header that there is not | severty: warn | own\.sql: "-- severty:" is not a header | mean severity
  another severity | severity: error | own\.sql: "-- severity:" must be fail or warn | reference\.md
  a feed that there is not | feeds: gmsi-headline | own\.sql: there is no feed | mean gmsi-headlines
  needs that are no table | needs: a b | own\.sql: "-- needs:" must name tables | reference\.md
`)('a check file with %s is refused, with its name and the comment', (_, head, says, hint) => {
  const text = head!.includes('\\n') ? `-- ${head!.replaceAll('\\n', '\n')}` : aFile(`-- ${head}`);
  expect(() => parse(text)).toThrow(
    expect.objectContaining({
      name: 'BrokenCheck',
      kind: 'fatal',
      message: expect.stringMatching(says!),
      hint: expect.stringMatching(hint!),
    }),
  );
});
