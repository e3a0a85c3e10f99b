import { expect, it } from 'vitest';
import { startSandbox } from '../../src/sandbox/index.ts';
import { connect } from '../../src/warehouse/connect.ts';
import { migrate } from '../../src/warehouse/migrate.ts';
import { aRestartableServer } from '../support/restartable-server.ts';
import { aJobFor, runBackfill } from '../support/run-backfill.ts';
import { heldBy, servedBy } from '../support/truth.ts';
import { coverageOf } from '../support/warehouse-state.ts';

const clock = () => new Date('2026-11-20T12:00:00Z');
const scope = { countries: ['US', 'DE'], topics: ['Inflation-Food'], from: '2026-09-01', to: '2026-09-30' };
const job = aJobFor(scope, { step: 'P15D', service: { end_date: 'inclusive', page_size: 12 } });

it('a warehouse whose server is restarted in the middle of a load in order, then as if it had crashed, is loaded on as soon as it is back', {
  timeout: 60_000,
}, async () => {
  await using server = await aRestartableServer();
  await using sandbox = await startSandbox({ limits: null, clock, volume: 0.3 });
  await using db = connect({ kind: 'url', url: server.url }, 6);
  await migrate(db);
  let asked = 0;
  const result = await runBackfill({
    ...{ job, db, sandbox, clock },
    aroundPage: async (ask) => {
      const page = await ask();
      asked++;
      if (asked === 5) await server.restart('fast');
      if (asked === 12) await server.restart('immediate');
      return page;
    },
  });
  expect(asked).toBeGreaterThanOrEqual(12);
  expect(result).toMatchObject({ outcome: 'done', windows: { drained: 4 } });
  expect(sandbox.stats()).toMatchObject({ pagesServedTwice: 0, cursorReadsAtOnce: 1 });
  expect(await heldBy(db, scope)).toEqual(servedBy(sandbox, scope));
  expect(await coverageOf(db)).toEqual({
    'US Inflation-Food COMBINED': '{[2026-09-01,2026-10-01)}',
    'DE Inflation-Food COMBINED': '{[2026-09-01,2026-10-01)}',
  });
});
