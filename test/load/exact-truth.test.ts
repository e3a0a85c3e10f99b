import { sql } from 'kysely';
import { describe, expect } from 'vitest';
import { type RecordLook, type SandboxOptions, startSandbox } from '../../src/sandbox/index.ts';
import { expectNothingLost } from '../support/lost-rows.ts';
import { aJobFor, runBackfill } from '../support/run-backfill.ts';
import { it } from '../support/serving.ts';
import { aWarehouse } from '../support/test-warehouse.ts';
import { heldBy, servedBy, type TruthScope } from '../support/truth.ts';
import { coverageOf } from '../support/warehouse-state.ts';

const clock = () => new Date('2026-11-20T12:00:00Z');

/** Two months that meet, so that windows end within them. */
const scope: TruthScope = {
  ...{ countries: ['US', 'DE'], topics: ['Governance/Corruption'] },
  ...{ from: '2026-08-25', to: '2026-09-13' },
};

const looks: Record<string, Partial<RecordLook>> = {
  'ids and texts': {},
  'ids but no texts': { texts: false },
  'texts but no ids': { ids: false },
  'neither ids nor texts': { ids: false, texts: false },
  'nested scores sent as strings': { scores: 'nested', numbers: 'string' },
  'times with another zone': { times: 'offset' },
  'every time rounded to the hour, without ids': { hourShare: 1, ids: false },
  'many scores missing': { missingScores: 0.4 },
};

describe('what is held after a backfill is exactly what is served', () => {
  it.each(Object.entries(looks))('for records with %s', async (_, records) => {
    await holdsTheTruth({ records, volume: 0.1 });
  });

  it.each([
    ['exclusive', 'unknown'],
    ['exclusive', 'exclusive'],
    ['inclusive', 'exclusive'],
  ] as const)('where end_date is %s and the job reads it as %s', async (endDate, reading) => {
    await holdsTheTruth({ endDate, volume: 0.1 }, { step: 'P9D', service: { end_date: reading } });
  });

  it.each([
    ['oldest-first', 1, 0.03],
    ['newest-first', 7, 0.1],
    ['oldest-first', 1000, 0.3],
  ] as const)('for records %s on pages of %i', async (order, pageSize, volume) => {
    await holdsTheTruth({ order, volume }, { service: { page_size: pageSize } });
  });

  it.for([[true], [false]] as const)(
    'for headlines under several countries and topics: a row for each, and one id (sent: %s)',
    async ([ids], { db }) => {
      const world = {
        ...{ countries: ['DE', 'FR'], topics: ['Inflation-Food', 'Inflation-Energy'] },
        ...{ from: '2026-09-21', to: '2026-09-30' },
      };
      await using sandbox = await startSandbox({ limits: null, clock, volume: 0.5, records: { ids } });
      await runBackfill({ job: aJobFor(world), db, sandbox, clock });
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
    await using sandbox = await startSandbox({ limits: null, clock, volume: 0.1 });
    const one = { ...scope, countries: ['US'], topics: ['Governance/Corruption'] };
    const types = ['COMBINED', 'DOMESTIC', 'INTERNATIONAL'] as const;
    for (const matchType of types) {
      const job = aJobFor({ ...one, matchType });
      expect((await runBackfill({ job, db, sandbox, clock })).outcome).toBe('done');
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
  await using sandbox = await startSandbox({ limits: null, clock, ...options });
  const job = aJobFor(scope, { step: 'P12D', ...overrides });
  const result = await runBackfill({ job, db: warehouse.db, sandbox, clock });
  const truth = { ...scope, ids: options.records?.ids ?? true };
  const served = servedBy(sandbox, truth);
  expect(served.length).toBeGreaterThan(10);
  expect(await heldBy(warehouse.db, truth)).toEqual(served);
  await expectNothingLost(warehouse.db);
  expect(result).toMatchObject({ outcome: 'done', totals: { records_rejected: 0, rows_changed: 0 } });
}
