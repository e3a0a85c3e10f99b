import { expect, it } from 'vitest';
import { agree, describeValue, type FactValue } from '../../src/probe/fact.ts';

const reach = (answered: string, refused: string | null, asked_on = '2026-11-20') => ({
  answered,
  refused,
  asked_on,
});

const limit = reach('2026-08-12', '2026-08-11');
const later = '2026-11-30';

it.each<[string, FactValue, FactValue, boolean]>([
  ['the same word', 'inclusive', 'inclusive', true],
  ['another word', 'inclusive', 'exclusive', false],
  ['bounds that overlap', { least: -75, most: 0 }, { least: 0, most: 60 }, true],
  ['bounds that do not', { least: 0, most: 0 }, { least: 15, most: 330 }, false],
  ['a word and bounds', 'stated', { least: 0, most: 0 }, false],
  ['a history limit of 100 days, ten days later', limit, reach('2026-08-22', '2026-08-21', later), true],
  [
    'a first day that stays',
    reach('2016-01-01', '2015-12-31'),
    reach('2016-01-01', '2015-12-31', later),
    true,
  ],
  ['a history limit that grew', limit, reach('2020-01-01', '2019-12-31', later), false],
  ['a history limit that shrank', reach('2016-11-19', null), reach('2026-08-22', '2026-08-21', later), false],
  [
    'bounds of a limit, and closer ones',
    reach('2026-10-01', '2020-01-01'),
    reach('2024-01-01', '2023-12-31'),
    true,
  ],
])('%s: %j and %j agree: %s', (_, a, b, expected) => {
  expect(agree(a, b)).toBe(expected);
  expect(agree(b, a)).toBe(expected);
});

it.each<[FactValue, string]>([
  ['inclusive', 'inclusive'],
  [{ least: -60, most: 0 }, "0:00 of the records' times"],
  [{ least: 225, most: 330 }, "3.75 to 5.5 h after 0:00 of the records' times"],
  [limit, 'answers 2026-08-12 (100 days back), refuses 2026-08-11'],
])('%j reads: %s', (value, text) => {
  expect(describeValue(value)).toBe(text);
});
