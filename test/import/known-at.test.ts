import { sql } from 'kysely';
import { describe, expect } from 'vitest';
import type { Warehouse } from '../../src/warehouse/connect.ts';
import { nameMoment } from '../../src/warehouse/tables/moments.ts';
import { sqlIn } from '../support/warehouse-state.ts';
import { it, runImport } from './importing.ts';

/** Archives that are point in time by themselves: one for each week, with what was known at its end. */

const first = '2024-01-10T00:00:00Z';
const second = '2024-01-17T00:00:00Z';
const stated = { feed: 'gmsi-headlines', country: 'US', topic: 'Wars', matchType: 'COMBINED' };

function archive(...records: [id: number, time: string, score: number][]): string {
  return records
    .map(([id, publication_time, directional_score]) =>
      JSON.stringify({
        id: `00000000-0000-4000-8000-00000000000${id}`,
        publication_time,
        headline: `Headline ${id}`,
        directional_score,
      }),
    )
    .join('\n');
}

const firstWeek = archive([1, '2024-01-03T10:00:01Z', 0.1], [2, '2024-01-04T10:00:01Z', 0.2]);
const bothWeeks = archive(
  [1, '2024-01-03T10:00:01Z', 0.9],
  [2, '2024-01-04T10:00:01Z', 0.2],
  [3, '2024-01-04T11:00:01Z', 0.5],
  [4, '2024-01-11T10:00:01Z', 0.4],
);

async function sumAt(db: Warehouse, moment: string): Promise<object | undefined> {
  const rows = await sqlIn(db)<object>`
    select headline_count as count, round(sentiment_sum::numeric, 3)::float8 as sum
    from gmsi.signal_at(${moment}::timestamptz, 'US', 'Wars', interval '30 days')`;
  return rows[0];
}

async function heldAt(db: Warehouse, moment: string): Promise<string[]> {
  const rows = await sqlIn(db)<{ row: string }>`
    select right(headline_id::text, 1) || ' ' || directional_score as row
    from gmsi.headlines_as_of(${moment}::timestamptz) order by 1`;
  return rows.map(({ row }) => row);
}

describe('an archive that says when everything in it was known', () => {
  it('is loaded as if that were now: late and changed headlines count from then', async ({ db, folder }) => {
    const days = { from: '2024-01-01', to: '2024-01-14' };
    for (const [name, content, knownAt] of [
      ['1.ndjson', firstWeek, first],
      ['2.ndjson', bothWeeks, second],
    ] as const)
      expect(
        await runImport(db, [await folder.write(name, content)], { stated, days, knownAt }),
      ).toMatchObject({ outcome: 'done' });

    // Headline 3 came late, and headline 1 was rescored.
    expect(await sumAt(db, '2024-01-05T00:00:00Z')).toEqual({ count: 2, sum: 0.3 });
    expect(await sumAt(db, '2024-01-16T23:59:59Z')).toEqual({ count: 3, sum: 0.7 });
    expect(await sumAt(db, '2024-01-17T00:00:01Z')).toEqual({ count: 4, sum: 2 });
    expect(await heldAt(db, '2024-01-09T00:00:00Z')).toEqual([]);
    expect(await heldAt(db, '2024-01-12T00:00:00Z')).toEqual(['1 0.1', '2 0.2']);
    expect(await heldAt(db, '2024-01-18T00:00:00Z')).toEqual(['1 0.9', '2 0.2', '3 0.5', '4 0.4']);
    // Days that could still change by then are not covered.
    const rows = await sqlIn(db)`select days::text from gmsi.coverage`;
    expect(rows).toEqual([{ days: '{[2024-01-01,2024-01-14)}' }]);
    const loads = await sql`select reason from gmsi.loads order by load_id`.execute(db);
    expect(loads.rows).toEqual(
      [first, second].map((at) => ({ reason: `known at ${at}, as stated (--known-at)` })),
    );
  });

  it('replaces nothing that was stored since', async ({ db, folder }) => {
    await runImport(db, [await folder.write('now.ndjson', firstWeek)], { stated });
    await runImport(db, [await folder.write('2.ndjson', bothWeeks)], { stated, knownAt: second });
    expect(await heldAt(db, '2100-01-01T00:00:00Z')).toEqual(['1 0.1', '2 0.2', '3 0.5', '4 0.4']);
  });

  it('is refused if it has a headline that was published later', async ({ db, folder }) => {
    const result = await runImport(db, [await folder.write('2.ndjson', bothWeeks)], {
      stated,
      knownAt: first,
    });
    expect(result).toMatchObject({ outcome: 'incomplete', covered: { series: 0 } });
    expect(result.refused).toEqual([
      expect.objectContaining({
        why: `has a record of 2024-01-11T10:00:01.000Z, so not all of it was known at ${first}`,
      }),
    ]);
    expect(await heldAt(db, '2100-01-01T00:00:00Z')).toEqual([]);
  });

  it('is refused if what is known at a moment with a name would change', async ({ db, folder }) => {
    const named = { name: 'paper', at: '2024-01-12T00:00:00Z', note: undefined, takenBy: 'me' };
    await nameMoment(db, named);
    const path = await folder.write('1.ndjson', firstWeek);
    await expect(runImport(db, [path], { stated, knownAt: first })).rejects.toThrow(
      `--known-at ${first} is before the moment paper, and would change what was known then.`,
    );
    expect(await runImport(db, [path], { stated, knownAt: second })).toMatchObject({ outcome: 'done' });
  });
});
