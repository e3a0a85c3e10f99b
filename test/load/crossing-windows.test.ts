import { sql } from 'kysely';
import { expect, it, vi } from 'vitest';
import { Secret } from '../../src/secret.ts';
import type { Page } from '../../src/service/page.ts';
import { connect } from '../../src/warehouse/connect.ts';
import { aLog } from '../support/a-log.ts';
import { sessionName } from '../support/empty-again.ts';
import { aJobFor, runBackfill } from '../support/run-backfill.ts';
import { aSandbox } from '../support/serving.ts';
import { aWarehouse } from '../support/test-warehouse.ts';
import { heldBy, servedBy } from '../support/truth.ts';
import { sqlIn } from '../support/warehouse-state.ts';

const scope = { countries: ['US'], topics: ['Inflation-Food'], from: '2026-09-01', to: '2026-09-20' };

it('windows that both bring the day between them, at the same time, do not disturb each other', async () => {
  await using warehouse = await aWarehouse({ isNew: true });
  await using sandbox = await aSandbox({ volume: 0.5 });
  // Both have begun to write before the other one commits.
  await sqlIn(warehouse.db)`
    create function gmsi.linger() returns trigger language plpgsql as
    ${sql.lit('begin perform pg_sleep(0.5); return null; end')}`;
  await sqlIn(warehouse.db)`
    create trigger linger after insert on gmsi.headlines execute function gmsi.linger()`;
  const job = aJobFor(scope, { step: 'P10D', lookback: 'P0D', service: { concurrency: 2 } });
  let arrived = 0;
  let letGo = () => {};
  const both = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  const aroundPage = async (ask: () => Promise<Page>) => {
    const page = await ask();
    if (++arrived === 2) letGo();
    await both;
    return page;
  };
  const { log, lines } = aLog();
  const db = connect({ kind: 'url', url: new Secret(warehouse.url) }, 4);
  const before = await rollbacks();
  expect(await runBackfill({ job, db, sandbox, log, aroundPage })).toMatchObject({ outcome: 'done' });
  await db.destroy();

  expect(arrived).toBe(2);
  expect(await rollbacks()).toBe(before);
  expect(lines.filter(({ level }) => level > 30)).toEqual([]);
  expect(await heldBy(warehouse.db, scope)).toEqual(servedBy(sandbox, scope));

  /** Transactions that were rolled back so far; a session tells of its own at the latest when it ends. */
  async function rollbacks(): Promise<number> {
    return vi.waitFor(
      async () => {
        const rows = await sqlIn(warehouse.db)<{ rollbacks: number; others: number }>`
          select xact_rollback as rollbacks, (
            select count(*) from pg_stat_activity a
            where a.datname = d.datname and a.backend_type = 'client backend' and a.application_name <> ${sessionName}) as others
          from pg_stat_database d where datname = current_database()`;
        expect(rows[0]!.others).toBe(0);
        return rows[0]!.rollbacks;
      },
      { timeout: 20_000, interval: 100 },
    );
  }
});
