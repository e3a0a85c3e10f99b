import { describe, expect } from 'vitest';
import { aLog } from '../support/a-log.ts';
import { aJobFor, runBackfill } from '../support/run-backfill.ts';
import { serving } from '../support/serving.ts';
import { heldBy, servedBy } from '../support/truth.ts';
import { countRows, sqlIn, windowsOf } from '../support/warehouse-state.ts';
import { breakAt, someHeadline, timesWritten } from './break-at.ts';

const scope = { countries: ['US', 'DE'], topics: ['Inflation-Food'], from: '2026-09-01', to: '2026-09-30' };
const job = aJobFor(scope, { step: 'P15D', service: { end_date: 'inclusive', page_size: 20 } });

const it = serving({ volume: 0.15 });

describe('a page that breaks the connection whenever it is committed', () => {
  it('fails its window after three times; a rerun takes it up', async ({ db, sandbox }) => {
    await breakAt(db, someHeadline(sandbox, scope, 'DE'), 1_000);

    const { log, lines } = aLog();
    const first = await runBackfill({ job, db, sandbox, log });
    expect(first).toMatchObject({ outcome: 'incomplete', windows: { drained: 3, failed: 1, draining: 0 } });
    expect(await timesWritten(db)).toBe(3);
    const [failed] = (await windowsOf(db)).filter(({ state }) => state === 'failed');
    expect(failed).toMatchObject({ country: 'DE', first_day: '2026-09-01' });
    expect(failed!.last_error).toMatch(
      /ended the connection during a write: .*, 3 times in a row\. The server's log/,
    );
    expect(lines).toContainEqual(
      expect.objectContaining({ msg: 'a window failed', why: failed!.last_error }),
    );
    expect(failed!.pages, 'what was committed before').toBeGreaterThan(0);
    expect(await countRows(db, 'headlines')).toBe(
      (await windowsOf(db)).reduce((sum, { records }) => sum + records, 0),
    );

    await runBackfill({ job, db, sandbox });
    expect(await timesWritten(db), 'three times a run').toBe(6);
    await sqlIn(db)`drop trigger break_off on gmsi.headlines`;
    expect(await runBackfill({ job, db, sandbox })).toMatchObject({ outcome: 'done' });
    expect(await heldBy(db, scope)).toEqual(servedBy(sandbox, scope));
    expect(sandbox.stats().cursorReadsAtOnce).toBe(1);
  });

  it('is committed if it breaks it twice', async ({ db, sandbox }) => {
    await breakAt(db, someHeadline(sandbox, scope, 'DE'), 2);
    expect(await runBackfill({ job, db, sandbox })).toMatchObject({
      outcome: 'done',
      windows: { drained: 4, failed: 0 },
    });
    expect(await timesWritten(db)).toBe(3);
    expect(sandbox.stats().pagesServedTwice).toBe(0);
    expect(await heldBy(db, scope)).toEqual(servedBy(sandbox, scope));
  });
});
