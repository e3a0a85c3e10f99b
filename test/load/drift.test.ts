import { beforeAll, describe, expect, test } from 'vitest';
import type { DriftKind, TruthRecord } from '#sandbox';
import { tooManyRejected } from '../../src/load/rejected.ts';
import { rememberFields } from '../../src/warehouse/tables/learned.ts';
import { aLog, type LogLine } from '../support/a-log.ts';
import { aWarehouseForAll } from '../support/for-all.ts';
import { aJob, aJobFor, refresh, runBackfill, runSync, stoppedAt } from '../support/run-backfill.ts';
import { aSandbox, serving } from '../support/serving.ts';
import type { TestWarehouse } from '../support/test-warehouse.ts';
import { countRows, sqlIn } from '../support/warehouse-state.ts';

const scope = { countries: ['US'], topics: ['Inflation-Food'], from: '2026-09-01', to: '2026-09-10' };
const job = aJobFor(scope, { service: { end_date: 'inclusive' } });

const kept: readonly DriftKind[] = [
  'renamed-field',
  'new-field',
  'vanished-field',
  'nul-character',
  'lone-surrogate',
  'score-as-string',
  'bare-nan',
  'bare-infinity',
];
const rejected: Record<string, string> = {
  'no-time': 'no readable publication time',
  'no-score': 'no directional or semantic score',
  'not-an-object': 'not a JSON object',
};

const it = serving({ volume: 0.5 });

const warehouse = await aWarehouseForAll();

describe('records that drift', () => {
  const drifts = [...kept, ...(Object.keys(rejected) as DriftKind[])];
  /** The records of the days, those that drift first. */
  let served: TruthRecord[];
  let result: Awaited<ReturnType<typeof runBackfill>>;
  /** The same once more: it must leave everything as it is. */
  let again: typeof result;
  beforeAll(async () => {
    await using sandbox = await aSandbox({ volume: 0.5 });
    served = sandbox.truth({ country: 'US', topic: 'Inflation-Food', ...scope }).toReversed();
    sandbox.script([{ kind: 'drift', drifts }]);
    const run = { job, db: warehouse.db, sandbox };
    result = await runBackfill(run);
    sandbox.script([{ kind: 'drift', drifts }]);
    again = await runBackfill({ ...run, plan: refresh });
  });

  const drifted = (drift: string) => served[drifts.indexOf(drift as DriftKind)]!;

  it('are all kept: each is a row, or a rejected record with its reason', async () => {
    const { db } = warehouse;
    expect(result).toMatchObject({
      outcome: 'done',
      totals: { records: served.length, records_rejected: 3 },
    });
    expect(await countRows(db, 'headlines')).toBe(served.length - 3);
    // NaN and Infinity are no scores; their records are rows without them.
    expect(Object.fromEntries(result.rejectedValues)).toEqual({ directional_positive: 2 });
    const rows = await sqlIn(db)`
      select reason, count(*)::int as records from gmsi.rejected_records where is_row group by 1`;
    expect(rows).toEqual([{ reason: 'no readable directional_positive', records: 2 }]);
    expect(await countRows(db, 'rejected_records')).toBe(5);
    expect(again.totals).toMatchObject({ records: served.length, rows_inserted: 0, rows_changed: 0 });
    const touched = sqlIn(db)`select from gmsi.headlines where load_id = ${again.loadId}`;
    expect([await touched, await countRows(db, 'headline_revisions')]).toEqual([[], 0]);
  });

  it.each(kept)('by %s are rows with everything that can be held', async (drift) => {
    const record = drifted(drift);
    const rows = await sqlIn(warehouse.db)<Record<string, unknown>>`
      select * from gmsi.headlines where headline_id = ${record.id}
    `;
    expect(rows[0]).toMatchObject({
      headline: record.headline,
      topic_probability: record.topicProbability,
      directional_positive: record.directional.positive,
      extra: { relevance_rank: record.wire.relevance_rank },
      ...asDrifted[drift],
    });
  });

  it.each(Object.entries(rejected))('by %s are kept whole in rejected_records: %s', async (drift, reason) => {
    const record =
      drift === 'not-an-object'
        ? 'a record that is no object'
        : Object.fromEntries(
            Object.entries(drifted(drift).wire).filter(([name]) =>
              drift === 'no-time' ? name !== 'publication_time' : !/^(directional|semantic)/.test(name),
            ),
          );
    const rows = await sqlIn(warehouse.db)`select * from gmsi.rejected_records where reason = ${reason}`;
    expect(rows).toEqual([
      expect.objectContaining({
        country: 'US',
        topic: 'Inflation-Food',
        reason,
        record,
        load_id: result.loadId,
      }),
    ]);
  });
});

describe('a window of which too many records cannot be read', () => {
  const paged = { end_date: 'inclusive', page_size: 40 };
  const coverageOf = async ({ db }: TestWarehouse) =>
    await sqlIn(db)<{ days: string }>`select days::text from gmsi.coverage where not isempty(days)`;

  it.for(['no-time', 'not-an-object'] as const)(
    'by %s fails and covers no day, though its rows stay',
    async (drift, { warehouse, db, sandbox }) => {
      // The first page drifts; of the window, that is more than a tenth.
      sandbox.script([{ kind: 'drift', drifts: Array.from({ length: 40 }, () => drift) }]);
      const of = aJobFor(scope, { service: paged });
      const first = await runBackfill({ job: of, db, sandbox });
      expect(first).toMatchObject({
        outcome: 'incomplete',
        totals: { windows_failed: 1, windows_drained: 0 },
      });
      expect(first.totals.records_rejected).toBe(40);
      expect(first.totals.rows_inserted).toBe(first.totals.records - 40);
      const rows = await sqlIn(db)<{ last_error: string }>`select last_error from gmsi.windows`;
      expect(rows[0]!.last_error).toMatch(
        /^40 of \d+ records were rejected, more than 1%\. gmsi\.rejected_records has the reasons/,
      );
      expect(await coverageOf(warehouse)).toEqual([]);

      expect(await runBackfill({ job: of, db, sandbox })).toMatchObject({
        outcome: 'done',
        totals: { rows_inserted: 40, records_rejected: 0 },
      });
      expect(await coverageOf(warehouse)).toEqual([{ days: '{[2026-09-01,2026-09-11)}' }]);
    },
  );

  it('is counted from its first page on; a job may allow more', async ({ warehouse, db, sandbox }) => {
    const drain = async (service: object) => {
      sandbox.script([{ kind: 'drift', drifts: Array.from({ length: 40 }, () => 'no-time' as const) }]);
      const of = aJobFor(scope, { service: { ...paged, ...service } });
      const begun = await runBackfill({ job: of, db, sandbox, ...stoppedAt(1) });
      expect(begun).toMatchObject({ outcome: 'interrupted', totals: { pages: 1, records_rejected: 40 } });
      return runBackfill({ job: of, db, sandbox });
    };
    expect(await drain({})).toMatchObject({ outcome: 'incomplete', windows: { failed: 1 } });
    expect(await drain({ max_rejected_percent: 50 })).toMatchObject({ outcome: 'done' });
    expect(await coverageOf(warehouse)).toHaveLength(1);
  });
});

test.each([
  [0, 0, undefined],
  [3, 0, undefined],
  [1, 1, '1 of 1 records were rejected, more than 1%'],
  [40, 5, undefined],
  [6, 3, undefined],
  [6, 4, '4 of 6 records were rejected, more than 1%'],
  [600, 6, undefined],
  [599, 6, '6 of 599 records were rejected, more than 1%'],
  [1266, 237, '237 of 1,266 records were rejected, more than 1%'],
])('of %i records, %i rejected ones are too many if it says so', (records, rejected, what) => {
  expect(tooManyRejected({ records, rejected }, 1)).toBe(what);
});

it('field names that come or go are noted once, by one load', async ({ db, sandbox }) => {
  const drain = async (drifts: readonly DriftKind[] | undefined) => {
    const { log, lines } = aLog();
    // Every record of every page drifts in the same way.
    const all = drifts && Array.from({ length: 1000 }, () => drifts[0]!);
    sandbox.script(all ? [{ kind: 'drift', drifts: all, times: 1e6 }] : []);
    const paged = aJobFor(scope, { service: { end_date: 'inclusive', page_size: 60 } });
    expect((await runBackfill({ job: paged, db, sandbox, log, plan: refresh })).outcome).toBe('done');
    return fieldNotes(lines);
  };
  expect(await drain(undefined)).toEqual([]);
  expect(await drain(['new-field'])).toEqual([
    ['records have fields that no load has seen before', ['sandbox_field']],
  ]);
  expect(await drain(['new-field'])).toEqual([]);
  expect(await drain(['vanished-field'])).toEqual([
    ['records no longer have these fields', ['match_type', 'sandbox_field']],
  ]);
  expect(await drain(['vanished-field'])).toEqual([]);
  expect(await drain(undefined)).toEqual([]);
});

const asDrifted: Partial<Record<DriftKind, object>> = {
  'renamed-field': { topic_probability: null, extra: { topicProbability: expect.any(Number) } },
  'new-field': { extra: { sandbox_field: { name: 'drift', major: 4 } } },
  'nul-character': { headline: 'a NUL \ufffd in a text' },
  'lone-surrogate': { headline: 'half a character \ufffd in a text' },
  'bare-nan': { directional_positive: null, extra: { directional_positive: 'NaN' } },
  'bare-infinity': { directional_positive: null, extra: { directional_positive: 'Infinity' } },
};

function fieldNotes(lines: readonly LogLine[]) {
  return lines
    .filter(({ fields }) => fields !== undefined)
    .map(({ msg, fields }) => [msg, [...(fields as string[])].sort()]);
}

const aNewField = { kind: 'drift', drifts: ['new-field'], times: 1_000 } as const;

function until(end_date: string, unknown_fields = 'fail', more = {}) {
  const scope = { countries: ['US'], topics: ['Inflation-Food'], start_date: '2026-09-01', end_date };
  return aJob({ ...scope, unknown_fields, service: { end_date: 'inclusive' }, ...more });
}

it('unknown_fields: fail stores nothing of a page with a new field', async ({ db, sandbox }) => {
  const load = (job: ReturnType<typeof aJob>) => runBackfill({ job, db, sandbox });
  expect(await load(until('2026-09-05'))).toMatchObject({ outcome: 'done' });
  const before = await countRows(db, 'headlines');

  sandbox.script([aNewField]);
  // Twice: what a load has refused is not known to the next one.
  for (let tries = 0; tries < 2; tries++)
    expect(await load(until('2026-09-20'))).toMatchObject({ outcome: 'incomplete', windows: { failed: 1 } });
  const rows = await sqlIn(db)<{ last_error: string; pages: number }>`
    select last_error, pages from gmsi.windows where state = 'failed'`;
  expect(rows).toEqual([
    {
      last_error:
        'The records have fields that no load has stored yet: sandbox_field. Ask the vendor what they are. Then set unknown_fields: keep for one load, or read them into columns with fields.',
      pages: 0,
    },
  ]);
  expect(await countRows(db, 'headlines')).toBe(before);

  const named = { fields: { url: 'sandbox_field' } };
  expect(await load(until('2026-09-20', 'fail', named))).toMatchObject({ outcome: 'done' });
  await sqlIn(db)`delete from gmsi.wire_fields where field = 'sandbox_field'`;
  expect(await load(until('2026-09-25'))).toMatchObject({ outcome: 'incomplete' });
  expect(await load(until('2026-09-25', 'keep'))).toMatchObject({ outcome: 'done' });
  expect(await load(until('2026-09-30'))).toMatchObject({ outcome: 'done', totals: { windows_drained: 1 } });
});

it('unknown_fields: fail refuses a live answer with a new field', async ({ db, sandbox }) => {
  const sync = () => runSync({ job: until('today', 'fail', { start_date: '2026-11-15' }), db, sandbox });
  expect(await sync()).toMatchObject({ outcome: 'done' });
  sandbox.script([{ ...aNewField, match: ({ path }) => path.includes('/live/') }]);
  expect(await sync()).toMatchObject({ outcome: 'incomplete' });
  expect(await countRows(db, 'headlines')).toBeGreaterThan(0);
  expect(await sqlIn(db)`select from gmsi.headlines where extra ? 'sandbox_field'`).toEqual([]);
});

it('remembers a thousand names of a feed, and no more, of however many loads', async ({ db }) => {
  const names = (load: number, count: number) =>
    new Map(Array.from({ length: count }, (_, index) => [`${load}-${index}`, 'extra' as const]));
  const known = new Map([['publication_time', 'column' as const]]);
  await rememberFields(db, 'gmsi-headlines', 1, known);
  await rememberFields(db, 'gmsi-headlines', 2, new Map([...known, ...names(2, 700)]));
  const third = await rememberFields(db, 'gmsi-headlines', 3, new Map([...names(3, 700), ...known]));
  expect(third.appeared).toHaveLength(299);
  expect(third.vanished).toHaveLength(700);
  const fourth = await rememberFields(db, 'gmsi-headlines', 4, new Map([...names(4, 9), ...known]));
  expect(fourth.appeared).toEqual([]);
  expect(await countRows(db, 'wire_fields')).toBe(1000);
  const time = await db
    .selectFrom('gmsi.wire_fields')
    .select('last_load_id')
    .where('field', '=', 'publication_time')
    .execute();
  expect(time).toEqual([{ last_load_id: 4 }]);
});
