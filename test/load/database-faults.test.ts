import { sql } from 'kysely';
import { describe, expect } from 'vitest';
import { Secret } from '../../src/secret.ts';
import { connect } from '../../src/warehouse/connect.ts';
import { SchemaGone, WarehouseFull } from '../../src/warehouse/errors.ts';
import { retried } from '../../src/warehouse/retries.ts';
import { aLog, type LogLine } from '../support/a-log.ts';
import { isMoved } from '../support/moved-time.ts';
import { aJobFor, runBackfill } from '../support/run-backfill.ts';
import { serving } from '../support/serving.ts';
import { takesNoWrites } from '../support/takes-no-writes.ts';
import { heldBy, servedBy } from '../support/truth.ts';
import { countRows, coverageOf, sqlIn, windowsOf } from '../support/warehouse-state.ts';

const scope = { countries: ['US', 'DE'], topics: ['Inflation-Food'], from: '2026-09-01', to: '2026-09-30' };
const job = aJobFor(scope, { step: 'P15D', service: { end_date: 'inclusive', page_size: 12 } });
const covered = {
  'US Inflation-Food COMBINED': '{[2026-09-01,2026-10-01)}',
  'DE Inflation-Food COMBINED': '{[2026-09-01,2026-10-01)}',
};

// A server under faketime sleeps through the end of its connections.
const it = serving({ volume: 0.15 }).skipIf(isMoved);

// Most of the time these two wait.
it.concurrent('a load whose connections are all cut commits each page once', async ({
  warehouse,
  db,
  sandbox,
}) => {
  const admin = connect({ kind: 'url', url: new Secret(warehouse.url) }, 1);
  let cut = 0;
  let asked = 0;
  const result = await runBackfill({
    job,
    db,
    sandbox,

    // Asked for while the page before is being committed.
    aroundPage: async (ask) => {
      const page = await ask();
      // Twice: a write whose connection breaks a third time is given up, as one that may crash the server.
      if (++asked === 5 || asked === 12) {
        const rows = await sqlIn(admin)`
            select pg_terminate_backend(pid) from pg_stat_activity
            where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'
          `;
        cut += rows.length;
      }
      return page;
    },
  });
  await admin.destroy();
  expect(cut).toBeGreaterThan(1);
  expect(result).toMatchObject({ outcome: 'done', windows: { drained: 4 } });
  expect(sandbox.stats()).toMatchObject({ pagesServedTwice: 0, cursorReadsAtOnce: 1 });
  expect(await heldBy(db, scope)).toEqual(servedBy(sandbox, scope));
  expect(await coverageOf(db)).toEqual(covered);
});

it.concurrent('a load is done though a failover stops its writes', async ({ warehouse, db, sandbox }) => {
  let asked = 0;
  const { log, lines } = aLog();
  const loading = runBackfill({
    job,
    db,
    sandbox,
    log,
    async aroundPage(ask) {
      const page = await ask();
      if (++asked === 5) await takesNoWrites(warehouse, 4_000);
      return page;
    },
  });
  expect(await loading).toMatchObject({ outcome: 'done', windows: { drained: 4 } });
  expect(lines).toContainEqual(
    expect.objectContaining({
      msg: expect.stringContaining('waiting for the warehouse'),
      why: expect.stringContaining('can only be read'),
    }),
  );
  expect(await heldBy(db, scope)).toEqual(servedBy(sandbox, scope));
  expect(await coverageOf(db)).toEqual(covered);
});

it('a full disk ends the run with what to do, and a rerun goes on', async ({ db, sandbox }) => {
  await sqlIn(db)`
      create function gmsi.fill_disk() returns trigger language plpgsql as $$
      begin
        if (select count(*) from gmsi.headlines) > 25 then
          raise exception 'could not extend file: No space left on device' using errcode = '53100';
        end if;
        return null;
      end $$
    `;
  await sqlIn(db)`create trigger fill_disk after insert on gmsi.headlines execute function gmsi.fill_disk()`;

  const first = await runBackfill({ job, db, sandbox });
  expect(first).toMatchObject({ outcome: 'incomplete', windows: { draining: 0, failed: 0 } });
  expect(first.error).toBeInstanceOf(WarehouseFull);
  expect((first.error as WarehouseFull).hint).toMatch(/Make room/);
  const held = await countRows(db, 'headlines');
  expect(held).toBeLessThan(servedBy(sandbox, scope).length);
  expect(held).toBe(sum((await windowsOf(db)).map(({ records }) => records)));

  await sqlIn(db)`drop trigger fill_disk on gmsi.headlines`;
  expect((await runBackfill({ job, db, sandbox })).outcome).toBe('done');
  expect(await heldBy(db, scope)).toEqual(servedBy(sandbox, scope));
  expect(await coverageOf(db)).toEqual(covered);
});

describe('the log of a load', () => {
  it('has no stack if the disk is full', async ({ db, sandbox }) => {
    // Neither heartbeats nor the end of a load are tried again.
    await sqlIn(db)`
      create function gmsi.refuse() returns trigger language plpgsql as
      ${sql.lit(`begin raise exception 'the disk is full' using errcode = '53100'; end`)}`;
    await sqlIn(db)`
      create trigger refuse before update on gmsi.loads for each row execute function gmsi.refuse()`;
    const { log, lines } = aLog();
    const short = aJobFor({ ...scope, countries: ['US'], to: '2026-09-01' });
    await runBackfill({ job: short, db, sandbox, log });
    expect(stacksIn(lines)).toEqual([]);
    expect(lines).toContainEqual(
      expect.objectContaining({
        msg: 'the end of the load could not be stored',
        why: expect.stringContaining('the disk is full'),
      }),
    );
  });

  it('has no stack if the schema is dropped meanwhile, and the error says so', async ({ db, sandbox }) => {
    const { log, lines } = aLog();
    let asked = 0;
    const loading = runBackfill({
      job,
      db,
      sandbox,
      log,
      async aroundPage(ask) {
        const page = await ask();
        // It can deadlock with the pages that are being written.
        if (++asked === 4) await retried(() => sql`drop schema gmsi cascade`.execute(db));
        return page;
      },
    });
    await expect(loading).rejects.toThrow(SchemaGone);
    expect(stacksIn(lines)).toEqual([]);
  });
});

function stacksIn(lines: readonly LogLine[]): readonly LogLine[] {
  return lines.filter((line) => JSON.stringify(line).includes(' at '));
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
