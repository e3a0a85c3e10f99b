import { describe, expect } from 'vitest';
import { ConfigError } from '../../src/errors.ts';
import { startSandbox } from '../../src/sandbox/index.ts';
import { aJobFor, runBackfill } from '../support/run-backfill.ts';
import { it } from '../support/serving.ts';
import { countRows } from '../support/warehouse-state.ts';

const scope = { countries: ['US'], topics: ['Inflation-Food'], from: '2026-09-01', to: '2026-09-30' };
const wider = { ...scope, to: '2026-10-10' };

describe('headlines of the service and headlines of a sandbox', () => {
  it.for([
    ['service', 'sandbox', /contains real headlines/],
    ['sandbox', 'service', /made-up headlines from a sandbox/],
  ] as const)(
    'do not mix: what the %s has filled takes nothing from the %s',
    async ([first, then, why], { db }) => {
      await using sandbox = await startSandbox({ limits: null, volume: 0.3 });
      const filled = await runBackfill({ job: aJobFor(scope), db, sandbox, servedBy: first });
      expect(filled.outcome).toBe('done');
      const rows = await countRows(db, 'headlines');

      // The lookups are fresh, so the first answer of the other one is a page.
      const mixed = await runBackfill({ job: aJobFor(wider), db, sandbox, servedBy: then });
      expect(mixed.outcome).toBe('failed');
      expect(mixed.error).toBeInstanceOf(ConfigError);
      expect((mixed.error as ConfigError).message).toMatch(why);
      expect((mixed.error as ConfigError).hint).toBeDefined();
      expect(await countRows(db, 'headlines')).toBe(rows);
      expect(mixed.windows).toMatchObject({ draining: 0, failed: 0 });

      expect((await runBackfill({ job: aJobFor(wider), db, sandbox, servedBy: first })).outcome).toBe('done');
    },
  );

  it('do not share lookups either', async ({ db }) => {
    await using sandbox = await startSandbox({ limits: null });
    await db.insertInto('gmsi.origin').values({ served_by: 'service' }).execute();
    await expect(runBackfill({ job: aJobFor(scope), db, sandbox })).rejects.toThrow(ConfigError);
    expect(await countRows(db, 'countries')).toBe(0);
    expect(await countRows(db, 'windows')).toBe(0);
  });
});
