import { describe, expect } from 'vitest';
import { ConfigError } from '../../src/errors.ts';
import type { Warehouse } from '../../src/warehouse/connect.ts';
import { hasAnswered } from '../../src/warehouse/tables/origin.ts';
import { aJobFor, runBackfill } from '../support/run-backfill.ts';
import { aSandbox, it } from '../support/serving.ts';
import { countRows } from '../support/warehouse-state.ts';

const scope = { countries: ['US'], topics: ['Inflation-Food'], from: '2026-09-01', to: '2026-09-30' };
const wider = { ...scope, to: '2026-10-10' };

async function addresses(db: Warehouse): Promise<readonly string[]> {
  return (await db.selectFrom('gmsi.origin').select('addresses').executeTakeFirstOrThrow()).addresses;
}

describe('headlines of the service and headlines of a sandbox', () => {
  it.for([
    ['service', 'sandbox', /contains real headlines/],
    ['sandbox', 'service', /made-up headlines from a sandbox/],
  ] as const)('do not mix: the %s, then the %s', async ([first, then, why], { db }) => {
    await using sandbox = await aSandbox({ volume: 0.3 });
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
    expect(await addresses(db)).toEqual([`${sandbox.url}/v1`]);

    expect((await runBackfill({ job: aJobFor(wider), db, sandbox, servedBy: first })).outcome).toBe('done');
  });

  it('come from every address that has answered, and from no other', async ({ db }) => {
    await using one = await aSandbox({ volume: 0.3 });
    await using other = await aSandbox({ volume: 0.3 });
    for (const [sandbox, job] of [one, other, one].map((it, n) => [it, n === 0 ? scope : wider] as const))
      await runBackfill({ job: aJobFor(job), db, sandbox });
    expect(await addresses(db)).toEqual([`${one.url}/v1`, `${other.url}/v1`]);
    expect(await hasAnswered(db, `${other.url}/v1`)).toBe(true);
    expect(await hasAnswered(db, other.url)).toBe(false);
  });

  it('do not share lookups either', async ({ db }) => {
    await using sandbox = await aSandbox();
    await db.insertInto('gmsi.origin').values({ served_by: 'service' }).execute();
    await expect(runBackfill({ job: aJobFor(scope), db, sandbox })).rejects.toThrow(ConfigError);
    expect(await countRows(db, 'countries')).toBe(0);
    expect(await countRows(db, 'windows')).toBe(0);
  });
});
