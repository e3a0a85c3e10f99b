import { sql } from 'kysely';
import { beforeAll, expect, test } from 'vitest';
import { startSandbox } from '#sandbox';
import { aFolder } from '../cli/gmsi.ts';
import { aWarehouseForAll } from '../support/for-all.ts';
import { aJob, runBackfill } from '../support/run-backfill.ts';
import { docPages, fencesOf } from './pages.ts';
import { asReader, isThere, tools } from './run-program.ts';

const blocksMarked = (mark: 'run' | 'csv') =>
  docPages()
    .flatMap(fencesOf)
    .filter(({ marks, language }) => marks[0] === mark && language !== 'sql')
    .map((fence) => ({ ...fence, tool: fence.marks[1]! }));
const blocks = blocksMarked('run');

const warehouse = await aWarehouseForAll();
const outputOf = asReader(warehouse);

beforeAll(async () => {
  await using sandbox = await startSandbox({ seed: 'demo', volume: 0.4, limits: null });
  const period = { start_date: '2025-12-01', end_date: '2025-12-31' };
  const job = aJob({ countries: ['US', 'NO'], topics: ['Inflation-Food'], ...period });
  await runBackfill({ job, db: warehouse.db, sandbox });
});

test('every tool that can run here has a block in the page', () => {
  expect(blocks.map(({ tool }) => tool).toSorted()).toEqual(Object.keys(tools).toSorted());
});

for (const { tool, place, text: printed } of blocks) {
  test.skipIf(!isThere(tool))(`${place} runs in ${tool} (skipped if it is not installed)`, async () => {
    const output = await outputOf(tool, printed);
    const { rows } = await sql<{ total: number; last: number }>`
      select sum(all_count)::int as total, max(all_count) filter (where day = '2025-12-31')::int as last
      from gmsi.sentiment_by_day where country = 'US'`.execute(warehouse.db);
    expect(output).toContain('2025-12-31');
    // The test of ODBC asks for the days, the others for their sum.
    expect(output.match(/\d+/g)).toContain(String(tool === 'isql' ? rows[0]!.last : rows[0]!.total));
  });
}

for (const { tool, place, text: printed } of blocksMarked('csv')) {
  test.skipIf(!isThere(tool))(`${place} reads NA (Namibia) in ${tool} (skipped without it)`, async () => {
    await using folder = await aFolder();
    await folder.write(
      'export/gmsi-headlines/month=2025-12/part-0.csv',
      'country,published_at,headline,directional_score\nNA,2025-12-01,a,0.5\nNA,2025-12-01,,\nUS,2025-12-02,b,0.1\n',
    );
    expect(await outputOf(tool, printed, folder.path)).toMatch(/\bNA +2$/m);
  });
}

test.skipIf(!isThere('pandas'))(
  'examples/gmsi.py returns what the warehouse does, now and then, with its types',
  async () => {
    await sql`insert into gmsi.moments (name, at, taken_by) values ('loaded', now(), 'x'), ('before', '2020-01-01', 'x')`.execute(
      warehouse.db,
    );
    const program = `
import json
import gmsi
frames = {
    "panel": gmsi.panel("Inflation-Food", "2025-12-29", "2025-12-30"),
    "of one country": gmsi.panel("Inflation-Food", country="US"),
    "as known": gmsi.panel("Inflation-Food", "2025-12-24", "2025-12-25", "US", delay="6 hours", market="New York"),
    "signals": gmsi.signals(["2025-12-02 12:00", "2025-12-01 12:00+00"], "NO", "Inflation-Food", over="12 hours"),
    "headlines": gmsi.headlines("Inflation-Food", "2025-12-01", "2025-12-02"),
    "before": gmsi.headlines("Inflation-Food", "2025-12-01", "2025-12-02", as_of="2020-01-01"),
    "before, by its name": gmsi.headlines("Inflation-Food", "2025-12-01", "2025-12-02", as_of="before"),
    "as of": gmsi.headlines("Inflation-Food", "2025-12-01", "2025-12-02", "US", as_of="loaded"),
}
print(json.dumps({
    name: [len(frame), {column: str(it) for column, it in frame.dtypes.items()}, list(map(int, frame.get("all_count", frame.get("headline_count", []))))[:2]]
    for name, frame in frames.items()
}))`;
    const { rows } = await sql<Record<string, never>>`
    select count(*)::int as all, (count(*) filter (where country = 'US'))::int as us,
      array(select headline_count from gmsi.signals(
        '{2025-12-01 12:00Z,2025-12-02 12:00Z}', 'NO', 'Inflation-Food', over => '12 hours') order by moment) as signals,
      array(select all_count from gmsi.sentiment_daily_as_known(
        '2025-12-24', '2025-12-24', 'US', 'Inflation-Food', delay => '6 hours', market => 'New York')) as known
    from gmsi.headlines where published_at >= '2025-12-01Z' and published_at < '2025-12-02Z'`.execute(
      warehouse.db,
    );
    const { all, us, signals, known } = rows[0]!;
    const days = {
      day: 'datetime64[ns]',
      state: 'string',
      all_count: 'Int64',
      directional_mean: 'float64',
    };
    const headline = { headline_id: 'string', retracted_at: 'datetime64[ns, UTC]', is_backfilled: 'boolean' };
    const like = (types: object) => expect.objectContaining(types);
    const told = JSON.parse(await outputOf('pandas', program));
    expect(told).toMatchObject({
      panel: [4, like(days), expect.anything()],
      'of one country': [31, like(days), expect.anything()],
      'as known': [1, like({ ...days, known_at: 'datetime64[ns, UTC]' }), known],
      signals: [2, like({ moment: 'datetime64[ns, UTC]', witnessed_count: 'Int64' }), signals],
      headlines: [all, like(headline), []],
      before: [0, like({ ...headline, load_id: 'Int64' }), []],
      'before, by its name': [0, like(headline), []],
      'as of': [us, like(headline), []],
    });
  },
);

test('every line for pandas that reads CSV keeps the code of Namibia, where there are countries', () => {
  const reads = docPages()
    .flatMap(({ text }) => text.match(/pd\.read_csv\([\s\S]*?\)\n/g) ?? [])
    .filter((read) => !/"prices\.csv"/.test(read));
  expect(reads.length).toBeGreaterThan(1);
  for (const read of reads) expect(read).toContain('keep_default_na=False, na_values=[""]');
});
