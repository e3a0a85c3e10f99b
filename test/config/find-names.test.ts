import { expect, it } from 'vitest';
import { findNames } from '../../src/config/find-names.ts';

const names =
  'AE United Arab Emirates,AU Australia,GB United Kingdom,NO Norway,RU Russia,SA Saudi Arabia,UA Ukraine,' +
  'US United States,ZA South Africa';
const countries = names.split(',').map((one) => ({ code: one.slice(0, 2), name: one.slice(3) }));
const codesFor = (typed: string) => findNames(countries, typed).map(({ code }) => code);

it.each([
  ['uk', ['GB', 'UA']],
  ['gb', ['GB']],
  ['us', ['US']],
  ['UAE', ['AE']],
  ['sa', ['SA', 'ZA']],
  ['no', ['NO']],
  ['king', ['GB']],
  ['united', ['AE', 'GB', 'US']],
  ['gb united', ['GB']],
  ['way', ['NO']],
  ['(', []],
  ['xyz', []],
])('finds by code, initials and words, the surest first: %s', (typed, codes) => {
  expect(codesFor(typed)).toEqual(codes);
});

it('finds all if nothing is typed, and topics by the word of a name or a category', () => {
  expect(codesFor(' ')).toEqual(countries.map(({ code }) => code));
  const topics = [
    { code: 'Inflation-Food', group: 'Real economy' },
    { code: 'Policy Tools-Interest Rates', group: 'Monetary policy' },
  ];
  expect(findNames(topics, 'infl')).toEqual([topics[0]]);
  expect(findNames(topics, 'rates')).toEqual([topics[1]]);
  expect(findNames(topics, 'monet')).toEqual([topics[1]]);
  expect(findNames(topics, 'policy tools-int')).toEqual([topics[1]]);
});
