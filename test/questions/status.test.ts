import { expect } from 'vitest';
import { completenessOf } from '../../src/questions/status.ts';
import { it } from '../support/serving.ts';
import { coverIn } from '../support/warehouse-state.ts';

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
