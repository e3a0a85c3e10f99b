import { expect } from 'vitest';
import type { Job } from '../../src/config/job.ts';
import { aJobFor, runBackfill, runSync } from '../support/run-backfill.ts';
import { it } from '../support/serving.ts';
import { heldBy, servedBy } from '../support/truth.ts';
import { watchRequests } from '../support/watch-requests.ts';
import {
  aSandbox,
  begin,
  dayMs,
  dayOf,
  expectCoveredDaysExact,
  scope,
  syncFor,
  syncsADay,
} from './simulated.ts';

const series = 4;

function aSpacedJob(overrides: Record<string, unknown> = {}): Job {
  const cadence = { adaptive: true, longest: 'P5D', max_uncovered: 'P12D' };
  return aJobFor(scope, { end_date: 'today', cadence, ...overrides }, '2040-03-01');
}

const days = 24;

it('weeks of syncs with an adaptive cadence spend fewer requests than every series at every sync, keep their bounds and lose nothing', async ({
  db,
}) => {
  // Changes end two weeks after publication, within the lookback.
  await using simulated = await aSandbox({
    volume: 0.15,
    changes: { late: 0.1, revised: 0.2, withdrawn: 0 },
  });
  const { sandbox, at } = simulated;
  const job = aSpacedJob({
    lookback: 'P15D',
    cadence: { adaptive: true, longest: 'P5D', max_uncovered: 'P18D' },
  });
  await runBackfill({ job, db, sandbox, clock: at(begin) });
  const requests = watchRequests(sandbox);
  const { seriesSkipped } = await syncFor(days, { job, db, ...simulated });

  const atEverySync = days * syncsADay * series * 2;
  expect(seriesSkipped).toBeGreaterThan(10);
  expect(requests.length).toBeLessThan(atEverySync);
  await expectCoveredDaysExact(db, simulated);

  // Once every series has been polled, all is as the service has it.
  const everySync = aSpacedJob({ lookback: 'P15D', cadence: {} });
  await runSync({ job: everySync, db, sandbox, clock: at(begin + days * dayMs) });
  const all = { ...scope, to: dayOf(begin + days * dayMs) };
  expect(await heldBy(db, all)).toEqual(servedBy(sandbox, all));
});
