import pg from 'pg';
import { expect, vi } from 'vitest';
import type { Page } from '../../src/service/page.ts';
import { aLog } from '../support/a-log.ts';
import { setAsOfDelay } from '../support/as-of-delay.ts';
import { isMoved } from '../support/moved-time.ts';
import { aJobFor, runBackfill } from '../support/run-backfill.ts';
import { aSandbox, it } from '../support/serving.ts';
import { heldBy, servedBy } from '../support/truth.ts';

const scope = { countries: ['US', 'DE'], topics: ['Inflation-Food'], from: '2026-09-01', to: '2026-09-30' };
const job = aJobFor(scope, { step: 'P15D', service: { end_date: 'inclusive', page_size: 12 } });

it.skipIf(isMoved)(
  'a locked table is waited for, and the log says so',
  {
    timeout: 90_000,
  },
  async ({ warehouse }) => {
    await using sandbox = await aSandbox({ volume: 0.3 });
    const { db, url } = warehouse;
    await setAsOfDelay(db, 2_000);
    const { log, lines } = aLog();
    const other = new pg.Client({ connectionString: url });
    await other.connect();
    let asked = 0;
    const aroundPage = async (ask: () => Promise<Page>) => {
      if (++asked === 9) await other.query('begin; lock table gmsi.headlines');
      return ask();
    };
    const loading = runBackfill({ job, db, sandbox, log, aroundPage });
    await vi.waitFor(
      () =>
        expect(lines).toContainEqual(
          expect.objectContaining({
            msg: 'waiting for the warehouse, and trying again',
            why: expect.stringMatching(/Another session holds a lock/),
          }),
        ),
      { timeout: 60_000 },
    );
    await other.query('commit');
    await other.end();

    expect(await loading).toMatchObject({ outcome: 'done', windows: { drained: 4, failed: 0 } });
    expect(lines.filter(({ msg }) => msg.startsWith('waiting for the warehouse'))).toHaveLength(1);
    expect(sandbox.stats()).toMatchObject({ pagesServedTwice: 0, cursorReadsAtOnce: 1 });
    expect(await heldBy(db, scope)).toEqual(servedBy(sandbox, scope));
  },
);
