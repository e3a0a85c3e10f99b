import { execFile, spawnSync } from 'node:child_process';
import { promisify } from 'node:util';
import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { aFolder } from '../cli/gmsi.ts';
import { runExport } from '../export/exporting.ts';
import { aSandboxForAll, aWarehouseForAll } from '../support/for-all.ts';
import { aJob, runBackfill } from '../support/run-backfill.ts';
import { docPages, fencesOf } from './pages.ts';

const sandbox = await aSandboxForAll({ limits: null, volume: 0.15 });
const { db } = await aWarehouseForAll();
const isThere = spawnSync('python3', ['-c', 'import polars']).status === 0;

it.skipIf(!isThere)(
  'the block for polars gives the table as of a moment (skipped if polars is not installed)',
  async () => {
    await using folder = await aFolder();
    await runBackfill({ job: aJob({ end_date: '2024-01-10' }), db, sandbox });
    await sql`update gmsi.headlines set first_seen_at = '2025-01-01Z', changed_at = '2025-01-01Z'`.execute(
      db,
    );
    await sql`update gmsi.headlines set semantic_score = 0.25, changed_at = '2025-06-30 12:00:00.000001+00'
              where country = 'US'`.execute(db);
    await sql`update gmsi.headlines set directional_score = 0.25, changed_at = '2025-06-30 12:00:00+00'
              where country = 'NO'`.execute(db);
    const { out } = await runExport({ db, folder: folder.path, scope: { versions: true } });
    const [block] = docPages()
      .flatMap(fencesOf)
      .filter(({ marks }) => marks.includes('polars'));
    const program = `${block!.text.replace('export/gmsi-headlines-versions', out!)}
found = then.collect()
print(found.height, found["directional_score"].sum(), found["semantic_score"].sum(), found["known_from"].max())`;
    const { stdout } = await promisify(execFile)('python3', ['-c', program]);
    const { rows } = await sql<{ rows: number; directional: number; semantic: number }>`
      select count(*)::int as rows, sum(directional_score) as directional, sum(semantic_score) as semantic
      from gmsi.headlines_as_of('2025-06-30 12:00:00+00')`.execute(db);
    const [count, directional, semantic, ...latest] = stdout.trim().split(' ');
    expect(Number(count)).toBe(rows[0]!.rows);
    expect(Number(directional)).toBeCloseTo(rows[0]!.directional, 9);
    expect(Number(semantic)).toBeCloseTo(rows[0]!.semantic, 9);
    expect(latest.join(' ')).toBe('2025-06-30 12:00:00+00:00');
  },
);
