import { describe, expect, it } from 'vitest';
import { startSandbox } from '../../src/sandbox/index.ts';
import { aJob, runBackfill } from '../support/run-backfill.ts';
import { aWarehouse } from '../support/test-warehouse.ts';
import { heldBy, servedBy } from '../support/truth.ts';

const year = {
  countries: ['US', 'NO'],
  topics: ['Inflation-Food', 'Governance/Corruption'],
  from: '2024-01-01',
  to: '2024-12-31',
};

describe('a backfill', () => {
  it('loads exactly what the service has, and a second run spends no request', async () => {
    await using warehouse = await aWarehouse();
    await using sandbox = await startSandbox({ limits: null, volume: 0.03 });
    const job = aJob();

    const first = await runBackfill({ job, db: warehouse.db, sandbox });
    expect(first.outcome).toBe('done');
    expect(await heldBy(warehouse.db, year)).toEqual(servedBy(sandbox, year));

    const before = sandbox.stats().requests;
    const second = await runBackfill({ job, db: warehouse.db, sandbox });
    expect(second).toMatchObject({ outcome: 'done', loadId: undefined });
    expect(sandbox.stats().requests).toBe(before);
  });
});
