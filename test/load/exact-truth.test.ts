import { sql } from 'kysely';
import { describe, expect } from 'vitest';
import type { SandboxOptions } from '#sandbox';
import { expectNothingLost } from '../support/lost-rows.ts';
import { aJobFor, runBackfill } from '../support/run-backfill.ts';
import { aSandbox, it } from '../support/serving.ts';
import { aWarehouse } from '../support/test-warehouse.ts';
import { heldBy, servedBy, type TruthScope } from '../support/truth.ts';
import { coverageOf } from '../support/warehouse-state.ts';

/** Two months that meet, so that windows end within them. */
const scope: TruthScope = {
  countries: ['US', 'DE'],
  topics: ['Governance/Corruption'],
  from: '2026-08-25',
  to: '2026-09-13',
};

/** What a service may be like, each with a reading of `end_date`, an order and pages of its own. */
const services: Record<string, [SandboxOptions, job?: Record<string, unknown>]> = {
  'ids and texts': [{ order: 'oldest-first', volume: 0.03 }, { service: { page_size: 1 } }],
  'ids but no texts': [{ records: { texts: false }, order: 'newest-first' }, { service: { page_size: 7 } }],
  'texts but no ids': [{ records: { ids: false }, endDate: 'exclusive' }, { step: 'P9D' }],
  'neither ids nor texts': [
    { records: { ids: false, texts: false }, endDate: 'exclusive' },
    { step: 'P9D', service: { end_date: 'exclusive' } },
  ],
  'nested scores sent as strings': [
    { records: { scores: 'nested', numbers: 'string' } },
    { step: 'P9D', service: { end_date: 'exclusive' } },
  ],
  'times with another zone': [{ records: { times: 'offset' }, order: 'oldest-first', volume: 0.3 }],
  'every time rounded to the hour, without ids': [{ records: { hourShare: 1, ids: false } }],
  'many scores missing': [{ records: { missingScores: 0.4 } }],
};

describe('what is held after a backfill is exactly what is served', () => {
  it.each(Object.entries(services))('for records with %s', async (_, [options, ofJob]) => {
    await holdsTheTruth({ volume: 0.1, ...options }, ofJob);
  });

  it.for([[true], [false]] as const)(
    'for headlines of several series: a row for each, one id (sent: %s)',
    async ([ids], { db }) => {
      const world = {
        countries: ['DE', 'FR'],
        topics: ['Inflation-Food', 'Inflation-Energy'],
        from: '2026-09-21',
        to: '2026-09-30',
      };
      await using sandbox = await aSandbox({ volume: 0.5, records: { ids } });
      await runBackfill({ job: aJobFor(world), db, sandbox });
      const truth = world.countries.flatMap((country) =>
        world.topics.flatMap((topic) => sandbox.truth({ ...world, country, topic })),
      );
      const distinct = new Set(truth.map(({ url }) => url)).size;
      expect(distinct).toBeLessThan(truth.length);
      const counted = sql<Record<string, number>>`
        select count(*)::int as rows, count(distinct headline_id)::int as headlines,
               count(distinct (published_at, headline, source, language))::int as texts
        from gmsi.headlines where published_at < '2026-10-01 00:00+00'`.execute(db);
      expect((await counted).rows).toEqual([{ rows: truth.length, headlines: distinct, texts: distinct }]);
    },
  );

  it('for each match type, without one disturbing the rows or the coverage of another', async ({ db }) => {
    await using sandbox = await aSandbox({ volume: 0.1 });
    const one = { ...scope, countries: ['US'], topics: ['Governance/Corruption'] };
    const types = ['COMBINED', 'DOMESTIC', 'INTERNATIONAL'] as const;
    for (const matchType of types) {
      const job = aJobFor({ ...one, matchType });
      expect((await runBackfill({ job, db, sandbox })).outcome).toBe('done');
    }
    for (const matchType of types) {
      const mine = { ...one, matchType };
      expect(await heldBy(db, mine)).toEqual(servedBy(sandbox, mine));
    }
    expect(await coverageOf(db)).toEqual({
      'US Governance/Corruption COMBINED': '{[2026-08-25,2026-09-14)}',
      'US Governance/Corruption DOMESTIC': '{[2026-08-25,2026-09-14)}',
      'US Governance/Corruption INTERNATIONAL': '{[2026-08-25,2026-09-14)}',
    });
  });
});

async function holdsTheTruth(options: SandboxOptions, overrides: Record<string, unknown> = {}) {
  await using warehouse = await aWarehouse();
  await using sandbox = await aSandbox({ ...options });
  const job = aJobFor(scope, { step: 'P12D', ...overrides });
  const result = await runBackfill({ job, db: warehouse.db, sandbox });
  const truth = { ...scope, ids: options.records?.ids ?? true };
  const served = servedBy(sandbox, truth);
  expect(served.length).toBeGreaterThan(10);
  expect(await heldBy(warehouse.db, truth)).toEqual(served);
  await expectNothingLost(warehouse.db);
  expect(result).toMatchObject({ outcome: 'done', totals: { records_rejected: 0, rows_changed: 0 } });
}
