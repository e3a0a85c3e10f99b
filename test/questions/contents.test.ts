import { beforeAll, expect, it } from 'vitest';
import { fullestSeries, loadedFeeds } from '../../src/questions/contents.ts';
import { aWarehouseForAll } from '../support/for-all.ts';
import { aWindowIn, coverIn } from '../support/warehouse-state.ts';

const warehouse = await aWarehouseForAll();
beforeAll(async () => {
  const { db } = warehouse;
  const topic = 'Stress';
  await coverIn(db, '{[2023-01-01,2025-01-11)}', { topic });
  const us = { topic, first_unsettled: '2023-04-01', records: 1000 };
  await aWindowIn(db, '2023-01-01', '2023-03-31', us);
  // Its last two days still settle.
  await aWindowIn(db, '2024-12-01', '2025-01-12', { topic, first_unsettled: '2025-01-11', records: 5 });
  await aWindowIn(db, '2022-12-01', '2022-12-31', { topic, country: 'GB', state: 'pending' });
  const fr = { topic, country: 'FR' };
  await aWindowIn(db, '2024-12-01', '2024-12-31', { ...fr, state: 'draining', records: 7 });
  await aWindowIn(db, '2024-12-01', '2024-12-31', { ...fr, match_type: 'DOMESTIC', state: 'failed' });
});

it('counts each series once, and knows days that are not covered yet', async () => {
  const { rows } = await loadedFeeds.query.execute(warehouse.db);
  const feed = 'gmsi-headlines';
  expect(rows).toEqual([
    { feed, match_type: 'COMBINED', series: 3, oldest: '2022-12-01', newest: '2025-01-12' },
    { feed, match_type: 'DOMESTIC', series: 1, oldest: '2024-12-01', newest: '2024-12-31' },
  ]);
});

it('begins with the series that had most records lately, not long ago', async () => {
  const { rows } = await fullestSeries('gmsi-headlines', 5).query.execute(warehouse.db);
  expect(rows.map(({ country, records }) => [country, records])).toEqual([
    ['FR', 7],
    ['US', 5],
  ]);
  const none = await fullestSeries('ticker-index', 5).query.execute(warehouse.db);
  expect(none.rows).toEqual([]);
});
