import { expect, test } from 'vitest';
import { aSandbox, drainBy, get, recordsOf } from './client.ts';

const BRENT = { ticker: 'BZ_COM' };
const PATH = '/v1/headlines/feed/historical/ticker/BZ_COM';

test.each([
  ['topic_preset', ['Supply'], ({ topic_name }) => topic_name === 'Supply'],
  ['topic_preset', ['Supply', 'price action'], (it) => /^(Supply|Price Action)$/.test(String(it.topic_name))],
  ['topic_preset', ['Earnings'], () => false],
  ['language_preset', ['EN'], ({ language }) => language === 'en'],
  ['language_preset', ['de', 'ja'], ({ language }) => language === 'de' || language === 'ja'],
  ['language_preset', ['de', 'ALL'], () => true],
  ['source_preset', ['Ledger & Tide'], ({ source }) => source === 'Ledger & Tide'],
  ['source_country_preset', ['united kingdom'], ({ countries }) => !!countries?.includes('United Kingdom')],
  [
    'source_country_preset',
    ['SA', 'Brazil'],
    ({ countries }) => !!countries?.some((it) => ['Saudi Arabia', 'Brazil'].includes(it)),
  ],
] as [string, string[], (record: Record<string, unknown> & { countries?: string[] | null }) => boolean][])(
  '%s takes %j, by commas and repeated, and leaves out the rest',
  async (preset, values, isWanted) => {
    const sandbox = await aSandbox();
    const days = { start_date: '2026-11-13', end_date: '2026-11-19' };
    const ask = (asked: Record<string, string | string[]>) =>
      drainBy((next_token) => get(sandbox, PATH, { ...days, limit: 1000, ...asked, next_token }));
    const all = recordsOf(await ask({}));
    const some = recordsOf(await ask({ [preset]: values.join(',') }));
    expect(some).toEqual(all.filter(isWanted));
    expect(some.length === 0).toBe(values[0] === 'Earnings');
    expect(recordsOf(await ask({ [preset]: values }))).toEqual(some);
    const week = { ...BRENT, from: days.start_date, to: days.end_date };
    const truth = sandbox.truthOf('ticker-headlines', { ...week, [preset]: values.join(',') });
    expect(truth.map(({ wire }) => wire)).toEqual(some.toReversed());
  },
);

test('a cursor is bound to its presets, in whatever order they are given', async () => {
  const sandbox = await aSandbox();
  const ask = (language_preset: string, next_token?: string) =>
    get(sandbox, PATH, { language_preset, limit: 5, next_token });
  const { next_token } = (await ask('en,de')).json;
  expect((await ask('de,en', next_token)).status).toBe(200);
  expect((await ask('en', next_token)).status).toBe(400);
});
