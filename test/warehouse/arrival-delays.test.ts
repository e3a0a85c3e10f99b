import { expect } from 'vitest';
import { it } from '../support/serving.ts';
import { sqlIn } from '../support/warehouse-state.ts';
import { aRow, idOf, upsert } from './a-row.ts';

it('has how late the headlines of a source came, without those that nobody saw come', async ({ db }) => {
  const published = new Date(Date.now() - 5 * 86_400_000).toISOString();
  const row = (number: number, source: string | null) =>
    aRow({ headline_id: idOf(number), source, published_at: published });
  const watched = { isBackfilled: false };
  const reuters = Array.from({ length: 101 }, (_, at) => row(at, 'Reuters'));
  await upsert(db, reuters, watched);
  await upsert(db, [row(201, null)], watched);
  await upsert(db, [row(301, 'Reuters'), row(302, 'AP')], { isBackfilled: true });
  await upsert(db, [{ ...row(401, 'AFP'), published_at: '2020-01-01T00:00:00Z' }], watched);
  const begun = new Date(Date.now() - 6 * 86_400_000).toISOString();
  await sqlIn(db)`
    insert into gmsi.loads (command, job, feed, run_by, started_at)
    values ('sync', '', 'gmsi-headlines', '', ${begun}), ('sync', '', 'gmsi-headlines', '', now())`;
  await upsert(
    db,
    [{ ...row(501, 'dpa'), published_at: new Date(Date.now() - 7 * 86_400_000).toISOString() }],
    watched,
  );
  // One a minute; the last of them came after a day and was retracted since.
  await sqlIn(db)`
    update gmsi.headlines set first_seen_at = published_at + right(headline_id::text, 12)::int * interval '1 minute'`;
  await sqlIn(db)`
    update gmsi.headlines set first_seen_at = published_at + interval '1 day', retracted_at = now()
    where headline_id = ${idOf(100)}`;
  const rows = await sqlIn(db)`
    select source, headlines, p50::text, p99::text from gmsi.arrival_delays order by source`;
  expect(rows).toEqual([
    { source: 'Reuters', headlines: 101, p50: '00:50:00', p99: '01:39:00' },
    { source: null, headlines: 1, p50: '03:21:00', p99: '03:21:00' },
  ]);
});
