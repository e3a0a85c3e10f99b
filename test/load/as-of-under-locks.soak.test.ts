import { setTimeout as passing } from 'node:timers/promises';
import fc from 'fast-check';
import pg from 'pg';
import { expect, it } from 'vitest';
import type { Warehouse } from '../../src/warehouse/connect.ts';
import { setAsOfDelay } from '../support/as-of-delay.ts';
import { sending } from '../support/pages.ts';
import { aJobFor, refresh, runBackfill } from '../support/run-backfill.ts';
import { aSandbox } from '../support/serving.ts';
import { aWarehouse } from '../support/test-warehouse.ts';
import { countRows, sqlIn } from '../support/warehouse-state.ts';

const scope = { countries: ['US', 'DE'], topics: ['Inflation-Food'], from: '2026-09-01', to: '2026-09-30' };
const job = aJobFor(scope, { step: 'P15D', service: { end_date: 'inclusive', page_size: 12 } });
/** Writes may take half of it, and wait for a lock a quarter of it. */
const delay = 1_600;

/** Somebody who locks rows and, for as long as that takes, does nothing. */
interface Lock {
  readonly after: number;
  readonly holds: number;
  /** One row in so many. */
  readonly share: number;
}

const aLock = fc.record({
  after: fc.nat(1_500),
  // Up to thrice what a write waits for, and beyond what is long enough ago.
  holds: fc.integer({ min: 50, max: delay * 1.5 }),
  share: fc.constantFrom(1, 3, 40),
});

async function holdLock(url: string, { after, holds, share }: Lock): Promise<void> {
  await passing(after);
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query('begin');
    await client.query(
      `select from gmsi.headlines where abs(hashtext(headline_id::text)) % ${share} = 0
       order by published_at, headline_id for update`,
    );
    await passing(holds);
  } finally {
    await client.end();
  }
}

async function headlinesAsOf(db: Warehouse, moment: string) {
  const rows = await sqlIn(db)`
    select count(*) as rows, md5(string_agg(h::text, '|' order by headline_id)) as content
    from gmsi.headlines_as_of(${moment}) h`;
  return rows[0];
}

/** Asks for moments that are just long enough ago, and for older ones, until it is stopped; keeps the answers. */
async function observe(db: Warehouse, until: AbortSignal) {
  const kept: { moment: string; answer: unknown }[] = [];
  while (!until.aborted) {
    const rows = await sqlIn(db)<{ moment: string }>`
      select (clock_timestamp() - gmsi.as_of_delay() - random() ^ 3 * interval '2 s')::text as moment`;
    const { moment } = rows[0]!;
    kept.push({ moment, answer: await headlinesAsOf(db, moment) });
    await passing(10);
  }
  return kept;
}

it('an answer for a moment that is long enough ago never changes, whoever holds locks meanwhile', {
  timeout: 180_000,
}, async () => {
  await using warehouse = await aWarehouse({ connections: 10 });
  await using sandbox = await aSandbox({ volume: 0.3 });
  const { db, url } = warehouse;
  await runBackfill({ job, db, sandbox });
  const rows = await countRows(db, 'headlines');
  await setAsOfDelay(db, delay);
  let round = 0;

  await fc.assert(
    fc.asyncProperty(fc.array(aLock, { minLength: 2, maxLength: 6 }), async (locks) => {
      const over = new AbortController();
      const observing = observe(db, over.signal);
      const locking = Promise.all(locks.map((lock) => holdLock(url, lock)));
      let isLocking = true;
      locking.finally(() => {
        isLocking = false;
      });
      while (isLocking) {
        const rescored = sending((records) =>
          records.map((one) => ({ ...one, directional_positive: round / 1000 })),
        );
        await runBackfill({ job, db, sandbox, plan: refresh, aroundPage: rescored });
        round++;
      }
      await locking;
      // Until the last round's moments are long enough ago, too.
      await passing(delay);
      over.abort();
      const kept = await observing;
      expect(new Set(kept.map(({ answer }) => JSON.stringify(answer))).size).toBeGreaterThan(2);
      for (const { moment, answer } of kept) {
        expect({ moment, answer: await headlinesAsOf(db, moment) }).toEqual({ moment, answer });
      }
      expect(await countRows(db, 'headlines')).toBe(rows);
    }),
    { numRuns: 2, endOnFailure: true },
  );
});
