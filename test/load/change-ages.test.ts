import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { catalog } from '../../src/feeds/catalog.ts';
import type { Warehouse } from '../../src/warehouse/connect.ts';
import { measureChangeAges, storedChangeAges } from '../../src/warehouse/tables/cadence.ts';
import { aWarehouse } from '../support/test-warehouse.ts';

const now = new Date('2026-11-20T12:00:00Z');
const headlines = catalog.get('gmsi-headlines')!;

/** A headline that was first seen some time after its publication. */
async function aHeadline(
  db: Warehouse,
  { topic = 'Tension', at = '2026-11-05T10:00:00Z', seenAfter = '1 minute', isBackfilled = false },
): Promise<void> {
  await sql`select gmsi.ensure_month_partition('headlines', '2026-11-01')`.execute(db);
  await sql`
    insert into gmsi.headlines (headline_id, country, topic, match_type, published_at, first_seen_at, is_backfilled, load_id)
    values (gen_random_uuid(), 'US', ${topic}, 'COMBINED', ${at}, ${at}::timestamptz + ${seenAfter}::interval,
            ${isBackfilled}, 1)
  `.execute(db);
}

async function aRevision(db: Warehouse, after: string, reason = 'rescored', at = '2026-11-05T10:00:00Z') {
  await sql`
    insert into gmsi.headline_revisions (headline_id, country, topic, match_type, published_at, first_seen_at, known_from,
                                         known_to, is_backfilled, load_id, reason)
    values (gen_random_uuid(), 'US', 'Tension', 'COMBINED', ${at}, ${at}, ${at}, ${at}::timestamptz + ${after}::interval,
            false, 1, ${reason})
  `.execute(db);
}

describe('how old changes are', () => {
  it('is nothing if nothing has changed, whatever the feed', async () => {
    await using warehouse = await aWarehouse();
    for (const [name, feed] of catalog)
      expect(await measureChangeAges(warehouse.db, feed, now), name).toEqual({ changes: 0, days: null });
  });

  it('is measured by versions that the service replaced, and by rows that came late', async () => {
    await using warehouse = await aWarehouse();
    const { db } = warehouse;
    await aRevision(db, '13 hours');
    await aRevision(db, '15 hours');
    await aHeadline(db, { seenAfter: '50 hours' });
    await aHeadline(db, { seenAfter: '10 minutes' });
    expect(await measureChangeAges(db, headlines, now)).toEqual({ changes: 3, days: 2 });
  });

  it('leaves out what this program did itself, and what is long ago', async () => {
    await using warehouse = await aWarehouse();
    const { db } = warehouse;
    await aRevision(db, '5 days', 'read again');
    await aRevision(db, '5 days', 'rescored', '2026-06-01T00:00:00Z');
    await aHeadline(db, { seenAfter: '6 days', isBackfilled: true });
    // Seen late, for syncs left its series out.
    await aHeadline(db, { topic: 'Elections', seenAfter: '6 days' });
    await sql`
      insert into gmsi.cadence (feed, country, topic, ticker, match_type, variant, skipped)
      values ('gmsi-headlines', 'US', 'Elections', '', 'COMBINED', '', 3)
    `.execute(db);
    expect(await measureChangeAges(db, headlines, now)).toEqual({ changes: 0, days: null });
  });

  it('lets one in a hundred be older', async () => {
    await using warehouse = await aWarehouse();
    const { db } = warehouse;
    for (let change = 0; change < 99; change++) await aRevision(db, '1 day');
    await aRevision(db, '9 days');
    expect(await measureChangeAges(db, headlines, now)).toEqual({ changes: 100, days: 1 });
    await aRevision(db, '9 days');
    expect(await measureChangeAges(db, headlines, now)).toEqual({ changes: 101, days: 9 });
  });

  it('is measured once a day', async () => {
    await using warehouse = await aWarehouse();
    const { db } = warehouse;
    const at = (hours: number) => new Date(now.getTime() + hours * 3600 * 1000);
    expect(await storedChangeAges(db, headlines.name, now)).toBeUndefined();
    await measureChangeAges(db, headlines, now);
    expect(await storedChangeAges(db, headlines.name, at(23))).toEqual({ changes: 0, days: null });
    expect(await storedChangeAges(db, headlines.name, at(24))).toBeUndefined();
  });

  it('of other tables is measured by their revisions', async () => {
    await using warehouse = await aWarehouse();
    const { db } = warehouse;
    await sql`
      insert into gmsi.revisions (table_name, row_id, series, version, known_from, known_to)
      values ('ticker_events', gen_random_uuid(), '{}', '{"event_at": "2026-11-05T10:00:00+00:00"}',
              '2026-11-05 11:00Z', '2026-11-08 11:00Z')
    `.execute(db);
    expect(await measureChangeAges(db, catalog.get('ticker-events')!, now)).toEqual({ changes: 1, days: 3 });
  });
});
