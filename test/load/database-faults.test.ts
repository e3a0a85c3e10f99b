import { sql } from 'kysely';
import pg from 'pg';
import { describe, expect } from 'vitest';
import { backfill } from '../../src/load/backfill.ts';
import { Secret } from '../../src/secret.ts';
import { createLog } from '../../src/terminal/log.ts';
import { connect, type Warehouse } from '../../src/warehouse/connect.ts';
import { SchemaGone, WarehouseFull } from '../../src/warehouse/errors.ts';
import { retried } from '../../src/warehouse/retries.ts';
import { aLog } from '../support/a-log.ts';
import { aProcess } from '../support/a-process.ts';
import { setAsOfDelay } from '../support/as-of-delay.ts';
import { isMoved } from '../support/moved-time.ts';
import { atPage } from '../support/pages.ts';
import { aJob, aJobFor, aServiceFor, runBackfill, usualClock } from '../support/run-backfill.ts';
import { serving } from '../support/serving.ts';
import { takesNoWrites } from '../support/takes-no-writes.ts';
import { heldBy, servedBy } from '../support/truth.ts';
import { countRows, coverageOf, sqlIn, windowsOf } from '../support/warehouse-state.ts';
import { breakAt, someHeadline, timesWritten } from './break-at.ts';

const scope = { countries: ['US', 'DE'], topics: ['Inflation-Food'], from: '2026-09-01', to: '2026-09-30' };
const job = aJobFor(scope, { step: 'P15D', service: { end_date: 'inclusive', page_size: 12 } });
const covered = {
  'US Inflation-Food COMBINED': '{[2026-09-01,2026-10-01)}',
  'DE Inflation-Food COMBINED': '{[2026-09-01,2026-10-01)}',
};

// A server under faketime sleeps through the end of its connections, and through its time limits.
const it = serving({ volume: 0.15 }).skipIf(isMoved);

const recordsIn = async (db: Warehouse) =>
  (await windowsOf(db)).reduce((sum, { records }) => sum + records, 0);

/** Lets a trigger refuse what a statement says. */
const refusing = (db: Warehouse, when: string, code: string) =>
  sql
    .raw(`
      create function gmsi.refuse() returns trigger language plpgsql as
        $$ begin raise exception 'refused by a test' using errcode = '${code}'; end $$;
      create trigger refuse ${when} execute function gmsi.refuse()`)
    .execute(db);

// Most of the time these two wait.
it.concurrent('a load whose connections are all cut commits each page once', async ({
  warehouse,
  sandbox,
}) => {
  const { db, url } = warehouse;
  const admin = connect({ kind: 'url', url: new Secret(url) }, 1);
  let cut = 0;
  const cutAll = async () => {
    const ended = await sqlIn(admin)`
      select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'`;
    cut += ended.length;
  };
  // Twice: a write whose connection breaks a third time is given up, as one that may crash the server.
  const [first, second] = [atPage(5, cutAll), atPage(12, cutAll)];
  const result = await runBackfill({
    job,
    db,
    sandbox,
    // Requested while the page before is being committed.
    aroundPage: (ask, request) => second(() => first(ask, request), request),
  });
  await admin.destroy();
  expect(cut).toBeGreaterThan(1);
  expect(result).toMatchObject({ outcome: 'done', totals: { windows_drained: 4 } });
  expect(sandbox.stats()).toMatchObject({ pagesServedTwice: 0, cursorReadsAtOnce: 1 });
  expect(await heldBy(db, scope)).toEqual(servedBy(sandbox, scope));
  expect(await coverageOf(db)).toEqual(covered);
});

it.concurrent('a load is done though a failover stops its writes', async ({ warehouse, db, sandbox }) => {
  const { log, lines } = aLog();
  const aroundPage = atPage(5, () => takesNoWrites(warehouse, 4_000));
  expect(await runBackfill({ job, db, sandbox, log, aroundPage })).toMatchObject({
    outcome: 'done',
    totals: { windows_drained: 4 },
  });
  expect(lines).toContainEqual(
    expect.objectContaining({
      msg: expect.stringContaining('waiting for the warehouse'),
      why: expect.stringContaining('can only be read'),
    }),
  );
  expect(await heldBy(db, scope)).toEqual(servedBy(sandbox, scope));
  expect(await coverageOf(db)).toEqual(covered);
});

it('a locked table is waited for, and the log says so', { timeout: 90_000 }, async ({
  warehouse,
  sandbox,
}) => {
  const { db, url } = warehouse;
  await setAsOfDelay(db, 2_000);
  const { log, lines } = aLog();
  const other = new pg.Client({ connectionString: url });
  await other.connect();
  const aroundPage = atPage(9, () => other.query('begin; lock table gmsi.headlines'));
  const loading = runBackfill({ job, db, sandbox, log, aroundPage });
  const waits = () => lines.filter(({ msg }) => msg === 'waiting for the warehouse, and trying again');
  await expect
    .poll(waits, { timeout: 60_000 })
    .toMatchObject([{ why: expect.stringMatching(/Another session holds a lock/) }]);
  await other.query('commit');
  await other.end();

  expect(await loading).toMatchObject({ outcome: 'done', totals: { windows_failed: 0, windows_drained: 4 } });
  expect(waits()).toHaveLength(1);
  expect(sandbox.stats()).toMatchObject({ pagesServedTwice: 0, cursorReadsAtOnce: 1 });
  expect(await heldBy(db, scope)).toEqual(servedBy(sandbox, scope));
});

describe('a page that breaks the connection whenever it is committed', () => {
  it('fails its window after three times; a rerun takes it up', async ({ db, sandbox }) => {
    await breakAt(db, someHeadline(sandbox, scope, 'DE'), 1_000);
    const { log, lines } = aLog();
    const first = await runBackfill({ job, db, sandbox, log });
    expect(first).toMatchObject({
      outcome: 'incomplete',
      windows: { failed: 1, draining: 0 },
      totals: { windows_drained: 3 },
    });
    expect(await timesWritten(db)).toBe(3);
    const [failed] = (await windowsOf(db)).filter(({ state }) => state === 'failed');
    expect(failed).toMatchObject({ country: 'DE', first_day: '2026-09-01' });
    expect(failed!.last_error).toMatch(
      /ended the connection during a write: .*, 3 times in a row\. The server's log/,
    );
    const said = { msg: 'a window failed', why: failed!.last_error };
    expect(lines).toContainEqual(expect.objectContaining(said));
    expect(failed!.pages, 'what was committed before').toBeGreaterThan(0);
    expect(await countRows(db, 'headlines')).toBe(await recordsIn(db));

    await runBackfill({ job, db, sandbox });
    expect(await timesWritten(db), 'three times a run').toBe(6);
    await sqlIn(db)`drop trigger break_off on gmsi.headlines`;
    expect(await runBackfill({ job, db, sandbox })).toMatchObject({ outcome: 'done' });
    expect(await heldBy(db, scope)).toEqual(servedBy(sandbox, scope));
    expect(sandbox.stats().cursorReadsAtOnce).toBe(1);
  });

  it('is committed if it breaks it twice', async ({ db, sandbox }) => {
    await breakAt(db, someHeadline(sandbox, scope, 'DE'), 2);
    const result = await runBackfill({ job, db, sandbox });
    expect(result).toMatchObject({ outcome: 'done', totals: { windows_failed: 0, windows_drained: 4 } });
    expect(await timesWritten(db)).toBe(3);
    expect(sandbox.stats().pagesServedTwice).toBe(0);
    expect(await heldBy(db, scope)).toEqual(servedBy(sandbox, scope));
  });
});

it('a full disk ends the run with what to do, and a rerun goes on', async ({ db, sandbox }) => {
  await sqlIn(db)`
    create function gmsi.fill_disk() returns trigger language plpgsql as $$
    begin
      if (select count(*) from gmsi.headlines) > 25 then
        raise exception 'could not extend file: No space left on device' using errcode = '53100';
      end if;
      return null;
    end $$;
    create trigger fill_disk after insert on gmsi.headlines execute function gmsi.fill_disk()`;
  const first = await runBackfill({ job, db, sandbox });
  expect(first).toMatchObject({ outcome: 'incomplete', windows: { draining: 0, failed: 0 } });
  expect(first.error).toBeInstanceOf(WarehouseFull);
  expect((first.error as WarehouseFull).hint).toMatch(/Make room/);
  const held = await countRows(db, 'headlines');
  expect(held).toBeLessThan(servedBy(sandbox, scope).length);
  expect(held).toBe(await recordsIn(db));

  await sqlIn(db)`drop trigger fill_disk on gmsi.headlines`;
  expect((await runBackfill({ job, db, sandbox })).outcome).toBe('done');
  expect(await heldBy(db, scope)).toEqual(servedBy(sandbox, scope));
  expect(await coverageOf(db)).toEqual(covered);
});

it('the schema may be dropped meanwhile: the error says so, and the log has no stack', async ({
  db,
  sandbox,
}) => {
  const { log, lines } = aLog();
  // It can deadlock with the pages that are being written.
  const aroundPage = atPage(4, () => retried(() => sql`drop schema gmsi cascade`.execute(db)));
  await expect(runBackfill({ job, db, sandbox, log, aroundPage })).rejects.toThrow(SchemaGone);
  expect(lines.filter((line) => JSON.stringify(line).includes(' at '))).toEqual([]);
});

it('the end of a load that could not be stored is stored by a heartbeat', async ({ db, sandbox }) => {
  // As with a privilege that is missing for a moment. Else a process that lives on keeps its windows.
  await refusing(db, 'before update on gmsi.loads for each row when (new.outcome is not null)', '42501');
  const one = aJob({ countries: ['US'], topics: ['Inflation-Food'] });
  await using process = await aProcess(db, { leaseSeconds: 2 });
  await using service = aServiceFor(one.service, 1000, usualClock, { db, sandbox });
  const log = createLog({ level: 'silent', readable: false });
  const about = { clock: usualClock, stop: new AbortController().signal, process, log };
  const plan = { fullRefresh: false, retryRefused: false };
  await backfill({ ...about, job: one, warehouse: db.patient({}), client: service.client, plan });
  const ends = () => db.selectFrom('gmsi.loads').select('outcome').execute();
  expect(await ends()).toEqual([{ outcome: null }]);
  await sqlIn(db)`drop trigger refuse on gmsi.loads`;
  await expect.poll(ends).toEqual([{ outcome: 'done' }]);
});
