import { beforeAll, expect, it } from 'vitest';
import { fullestSeries, loadedFeeds } from '../../../src/warehouse/questions/contents.ts';
import { aWarehouseForAll } from '../../support/for-all.ts';
import { sqlIn } from '../../support/warehouse-state.ts';

const warehouse = await aWarehouseForAll();
beforeAll(async () => {
  await sqlIn(warehouse.db)`
    insert into gmsi.coverage (feed, country, topic, match_type, days) values
      ('gmsi-headlines', 'US', 'Stress', 'COMBINED', '{[2023-01-01,2025-01-11)}'),
      ('gmsi-headlines', 'GB', 'Stress', 'COMBINED', '{}')`;
  await sqlIn(warehouse.db)`
    insert into gmsi.windows (feed, country, topic, match_type, first_day, last_day, state, first_unsettled, records) values
      ('gmsi-headlines', 'US', 'Stress', 'COMBINED', '2023-01-01', '2023-03-31', 'drained', '2023-04-01', 1000),
      -- Its last two days still settle.
      ('gmsi-headlines', 'US', 'Stress', 'COMBINED', '2024-12-01', '2025-01-12', 'drained', '2025-01-11', 5),
      ('gmsi-headlines', 'GB', 'Stress', 'COMBINED', '2022-12-01', '2022-12-31', 'pending', null, 0),
      ('gmsi-headlines', 'FR', 'Stress', 'COMBINED', '2024-12-01', '2024-12-31', 'draining', null, 7),
      ('gmsi-headlines', 'FR', 'Stress', 'DOMESTIC', '2024-12-01', '2024-12-31', 'failed', null, 0)`;
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
