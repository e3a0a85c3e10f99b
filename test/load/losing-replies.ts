import { expect } from 'vitest';
import type { Sandbox } from '#sandbox';
import { Secret } from '../../src/secret.ts';
import { connect, type Warehouse } from '../../src/warehouse/connect.ts';
import { aCuttingProxy, type CuttingProxy } from '../support/cutting-proxy.ts';
import { aJobFor, runBackfill } from '../support/run-backfill.ts';
import { aSandbox } from '../support/serving.ts';
import { aWarehouse, type TestWarehouse } from '../support/test-warehouse.ts';
import { heldBy, servedBy } from '../support/truth.ts';
import { countRows, coverageOf, sqlIn } from '../support/warehouse-state.ts';

/*
 * For each kind of work: the reply to its n-th message is lost, for every n, after the server has executed it. Each time, the work
 * ends well, and leaves what it leaves without that.
 */

export const scope = {
  countries: ['US', 'NO'],
  topics: ['Inflation-Food'],
  from: '2026-09-01',
  to: '2026-09-06',
};
export const settings = {
  lookback: 'P0D',
  service: { end_date: 'inclusive', page_size: 25, concurrency: 1 },
};
export const job = aJobFor(scope, settings);

/** Where a kind of work is done. */
export interface Place {
  readonly warehouse: TestWarehouse;
  readonly sandbox: Sandbox;
}

interface Setting extends Place {
  /** By way of the proxy. */
  readonly db: Warehouse;
  readonly url: string;
}

export interface Kind {
  /** What it begins with: a migrated warehouse if not set. */
  readonly given?: () => Promise<TestWarehouse>;
  /** Done before, with no reply lost. */
  readonly before?: (setting: Place) => Promise<unknown>;
  readonly work: (setting: Setting) => Promise<unknown>;
  /** Loses only one in so many, of kinds that take long; `EVERY=1` loses all. */
  readonly oneIn?: number;
  /** What it leaves, beside what holds for every kind. */
  readonly after: (setting: Place) => Promise<void>;
}

export async function isLoaded({ warehouse, sandbox }: Place): Promise<void> {
  expect(await heldBy(warehouse.db, scope)).toEqual(servedBy(sandbox, scope));
  const days = '{[2026-09-01,2026-09-07)}';
  expect(await coverageOf(warehouse.db)).toEqual({
    'NO Inflation-Food COMBINED': days,
    'US Inflation-Food COMBINED': days,
  });
  expect(sandbox.stats()).toMatchObject({ cursorReadsAtOnce: 1 });
}

export const load = ({ warehouse, sandbox }: Place) => runBackfill({ job, db: warehouse.db, sandbox });

/** Does a kind of work on a warehouse of its own, with the reply to the `nth` message lost. @returns false if it has fewer */
async function losing(nth: number, { given = aWarehouse, before, work, after }: Kind): Promise<boolean> {
  await using warehouse = await given();
  await using sandbox = await aSandbox({ volume: 0.3 });
  await before?.({ warehouse, sandbox });
  await using proxy: CuttingProxy = await aCuttingProxy(warehouse.url);
  await using db = connect({ kind: 'url', url: new Secret(proxy.url) }, 4);
  proxy.loseReplyTo(/^/, nth);
  await work({ warehouse, sandbox, db, url: proxy.url });
  if (proxy.lost === 0) return false;
  await after({ warehouse, sandbox });
  const unended = await sqlIn(warehouse.db)`select command from gmsi.loads where outcome is null`;
  expect(unended, 'a load without an end').toEqual([]);
  expect(await countRows(warehouse.db, 'headline_revisions')).toBe(0);
  return true;
}

/**
 * Loses the reply to each message of a kind of work, and expects that it ends well each time.
 * @param atOnce how many at a time; most of it is waiting
 */
export async function loseEachReply(kind: Kind, atOnce: number): Promise<void> {
  const failures: string[] = [];
  let lost = 0;
  let nth = 1;
  let isOver = false;
  async function work(): Promise<void> {
    while (!isOver && failures.length < 20) {
      const own = nth;
      nth += process.env.EVERY ? 1 : (kind.oneIn ?? 1);
      try {
        if (await losing(own, kind)) lost++;
        else isOver = true;
      } catch (error) {
        failures.push(`${own}: ${(error as Error).message.slice(0, 300)}`);
      }
    }
  }
  await Promise.all(Array.from({ length: atOnce }, work));
  expect(failures).toEqual([]);
  expect(lost).toBeGreaterThan(5);
}
