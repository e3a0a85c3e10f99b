import { afterAll, beforeAll, beforeEach, expect, it, vi } from 'vitest';
import { manyRecords } from '../import/importing.ts';
import { aSandboxForAll } from '../support/for-all.ts';
import { aWarehouse, type TestWarehouse } from '../support/test-warehouse.ts';
import { sqlIn } from '../support/warehouse-state.ts';
import { accessTo, aFolder, type Folder, prints, startGmsi } from './gmsi.ts';
import { gmsiHere } from './in-process.ts';

let folder: Folder;
let warehouse: TestWarehouse;
const sandbox = await aSandboxForAll({ limits: null, volume: 0.1, tickerHistoryLimitDays: null });
beforeAll(async () => {
  folder = await aFolder();
});
afterAll(async () => {
  await folder[Symbol.asyncDispose]();
});
beforeEach(async () => {
  warehouse = await aWarehouse();
  return () => warehouse[Symbol.asyncDispose]();
});

const stated = ['--feed', 'gmsi-headlines', '--country', 'US', '--topic', 'Wars', '--match-type', 'COMBINED'];

async function recordsLoaded(): Promise<number> {
  const rows = await sqlIn(warehouse.db)<{ records: number }>`
    select coalesce(sum(records), 0)::int as records from gmsi.imported_files`;
  return rows[0]!.records;
}

it('is interrupted, killed and run again: every record is there once', async () => {
  const all = 16_000;
  const path = await folder.write('many.ndjson', manyRecords(all));
  const run = { cwd: folder.path, env: { DATABASE_URL: warehouse.url } };
  let before = 0;
  for (const signal of ['SIGINT', 'SIGKILL'] as const) {
    const running = startGmsi(['import', path, ...stated], run);
    const seen = before;
    await vi.waitFor(async () => expect(await recordsLoaded()).toBeGreaterThan(seen), {
      timeout: 90_000,
      interval: 20,
    });
    running.kill(signal);
    const { code, stdout } = await running.ended;
    if (signal === 'SIGINT') {
      expect(code).toBe(130);
      expect(stdout).toMatch(/^import: interrupted; run it again to continue\n/);
    }
    before = await recordsLoaded();
    expect(before, signal).toBeLessThan(all);
  }

  // A killed process owns its file until its lease is over.
  await sqlIn(warehouse.db)`update gmsi.processes set heartbeat_at = now() - interval '1 hour'`;
  const rerun = await gmsiHere(['import', path, ...stated], run);
  expect(rerun).toMatchObject(prints(0, /^import: done, every file is loaded\n/));
  expect(rerun.stdout).toMatch(new RegExp(`^records +${(all - before).toLocaleString('en-US')}$`, 'm'));
  const rows = await sqlIn(warehouse.db)`
    select count(*)::int as rows, count(distinct headline_id)::int as ids,
           (select count(*)::int from gmsi.headline_revisions) as revisions from gmsi.headlines`;
  expect(rows).toEqual([{ rows: all, ids: all, revisions: 0 }]);
  const loads = await sqlIn(warehouse.db)`select command, outcome from gmsi.loads order by load_id`;
  expect(loads).toEqual([
    { command: 'import', outcome: 'interrupted' },
    { command: 'import', outcome: null },
    { command: 'import', outcome: 'done' },
  ]);
});

it('loads what gmsi sandbox --archive writes, without a key, and says what a backfill does not have to ask for', async () => {
  const archive = {
    from: '2024-12-01',
    to: '2025-01-10',
    tickers: ['BTC_CRY'],
    countries: ['US'],
    topics: ['Wars'],
  };
  const world = ['--options', JSON.stringify({ volume: 0.1, archive })];
  const here = { cwd: folder.path, env: { DATABASE_URL: warehouse.url } };
  const written = await gmsiHere(['sandbox', '--seed', 'sandbox', '--archive', 'archives', ...world], here);
  expect(written).toMatchObject(prints(0, /Next: gmsi import archives\n$/));
  expect(written.stdout).toMatch(/asset_headlines_[-0-9a-f]{36}_BTC_CRY\.zip +4 +\d+/);

  const imported = await gmsiHere(['import', 'archives', '--quiet'], here);
  expect(imported.stderr).toBe('');
  expect(imported.code).toBe(0);
  expect(imported.stdout).toMatch(/^requests +0$/m);
  // 2024 and 2025 of two match types, three index types, one pair and two models.
  expect(imported.stdout).toMatch(/^covered +4,068 days of 8 series$/m);
  expect(imported.stdout).toMatch(/^not covered +\d+ files, because their days/m);
  const again = await gmsiHere(['import', 'archives', '--json'], here);
  expect(JSON.parse(again.stdout)).toMatchObject({ outcome: 'done', loaded: 0, refused: [] });

  const job = { countries: ['US'], topics: ['Wars'], start_date: archive.from, end_date: '2025-12-31' };
  const path = await folder.write('jobs/wars.yaml', {
    ...job,
    service: { rate: 'unlimited', end_date: 'inclusive' },
  });
  const { pages } = sandbox.stats();
  const env = accessTo(warehouse, sandbox);
  expect(await gmsiHere(['backfill', path], { ...here, env })).toMatchObject(
    prints(0, 'everything is covered'),
  );
  expect(sandbox.stats().pages).toBe(pages);
  const checked = await gmsiHere(['check', path, '--only', 'ledger-cache', '--json'], { ...here, env });
  expect(checked.stdout).toContain('"result": "passed"');
});

it('names a broken file and its line, in one line whatever it is called, and ends with 1', async () => {
  const hostile = '\u001b[31mred\nWARN forged';
  const path = await folder.write(`${hostile}.ndjson`, `${manyRecords(1)}{"id":`);
  const { code, stdout } = await gmsiHere(['import', path, ...stated, '--quiet'], {
    cwd: folder.path,
    env: { DATABASE_URL: warehouse.url },
  });
  expect(code).toBe(1);
  expect(stdout).toMatch(
    /^refused: .*red WARN forged\.ndjson, line 2: is not JSON; each line must be one record$/m,
  );
  expect(stdout).toMatch(/Repair the file or leave it out, and run it again; nothing is loaded twice\.$/m);
  expect(stdout).not.toContain('\u001b');
});

it.each([
  [['import'], /missing required argument 'file'/],
  [['import', 'gone.csv'], /gone\.csv cannot be read/],
  [['import', 'notes.txt'], /notes\.txt is not a file of records/],
  [['import', '.', '--from', '2024-01-01'], /--to is missing/],
  [
    ['import', '.', '--from', '2024-02-01', '--to', '2024-01-01'],
    /--from 2024-02-01 is after --to 2024-01-01/,
  ],
  [['import', 'few.csv', '--feed', 'gmsi-headline'], /there is no feed "gmsi-headline"/],
  [['import', 'few.csv'], /few\.csv has a name that does not say its feed: use --feed/],
])('%j is refused with 2', async (args, what) => {
  await folder.write('few.csv', 'a,b\n1,2\n');
  await folder.write('notes.txt', 'x');
  const { code, stderr } = await gmsiHere(args, { cwd: folder.path, env: { DATABASE_URL: warehouse.url } });
  expect(stderr).toMatch(what);
  expect(stderr).toMatch(/^ {2}→ /m);
  expect(code).toBe(2);
});
