import { expect } from 'vitest';
import { completenessOf } from '../../src/questions/status.ts';
import { it } from '../support/serving.ts';
import { aWindowIn, coverIn } from '../support/warehouse-state.ts';

const scope = {
  feed: 'gmsi-headlines',
  matchType: 'COMBINED',
  countries: ['US', 'NO'],
  topics: ['Inflation-Food'],
  tickers: [''],
  variants: [''],
  from: '2026-09-01',
  to: '2026-09-10',
};

it('is complete to the day before the first that any series lacks, settled or not', async ({ db }) => {
  const completeTo = async () => (await completenessOf(db, scope, '2026-09-03')).complete_to;
  expect(await completeTo()).toBeNull();
  await coverIn(db, '{[2026-09-01,2026-09-11)}', { country: 'US', topic: 'Inflation-Food' });
  expect(await completeTo()).toBeNull();
  await coverIn(db, '{[2026-09-01,2026-09-05),[2026-09-08,2026-09-11)}', {
    country: 'NO',
    topic: 'Inflation-Food',
  });
  expect(await completeTo()).toBe('2026-09-04');
  await coverIn(db, '{[2026-09-01,2026-09-11)}', { country: 'NO', topic: 'Inflation-Food' });
  expect(await completeTo()).toBe('2026-09-10');
});

it('tells missing days apart that no window failed or was refused for', async ({ db }) => {
  const leftOver = async () => (await completenessOf(db, scope, '2026-09-11')).left_over;
  await coverIn(db, '{[2026-09-01,2026-09-05)}', { country: 'US', topic: 'Inflation-Food' });
  expect(await leftOver()).toBe(6 + 10);
  await aWindowIn(db, '2026-09-03', '2026-09-10', { state: 'refused', last_error: '422' });
  expect(await leftOver()).toBe(10);
  await aWindowIn(db, '2026-09-01', '2026-09-04', { country: 'NO', state: 'failed', last_error: '503' });
  await aWindowIn(db, '2026-09-05', '2026-09-06', { country: 'NO', state: 'pending' });
  expect(await leftOver()).toBe(6);
});
