import { sql } from 'kysely';
import pg from 'pg';
import { expect, it, vi } from 'vitest';
import type { Warehouse } from '../../src/warehouse/connect.ts';
import { setAsOfDelay } from '../support/as-of-delay.ts';
import { heldBy, servedBy } from '../support/truth.ts';
import { accessTo, startGmsi } from './gmsi.ts';
import { jobFor, quarter } from './jobs.ts';
import { aPlace } from './place.ts';

const patiently = { timeout: 60_000, interval: 50 };

async function headlinesAsOf(db: Warehouse, moment: string): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*) from gmsi.headlines_as_of(${moment})`.execute(db);
  return rows[0]!.count;
}

it('a run that is stopped in the middle of a commit, and goes on long after, changes no answer of meanwhile and loses nothing', async () => {
  await using place = await aPlace();
  const { folder, sandbox, warehouse } = place;
  const { db, url } = warehouse;
  await setAsOfDelay(db, 12_000);
  // One window at a time: those of one series wait for each other's rollups, too.
  const job = await folder.write('job.yaml', jobFor(quarter, { service: { concurrency: 1 } }));
  const held = servedBy(sandbox, quarter);
  // The page that has this one waits in the middle of its commit for as long as somebody holds the lock.
  const id = held[Math.floor(held.length / 2)]![3];
  await sql`
    create function gmsi.wait() returns trigger language plpgsql as $$
    begin perform pg_advisory_xact_lock_shared(42); return new; end $$;
    create trigger wait before insert on gmsi.headlines for each row
      when (new.headline_id = ${sql.lit(id)}) execute function gmsi.wait()`.execute(db);
  const gate = new pg.Client({ connectionString: url });
  await gate.connect();
  await gate.query('select pg_advisory_lock(42)');
  const sessionsThat = async (condition: string) => {
    const { rows } = await sql<{ pid: number }>`
      select pid from pg_stat_activity
      where datname = current_database() and query like '%insert into gmsi."headlines"%' and ${sql.raw(condition)}
        and pid <> pg_backend_pid()`.execute(db);
    return rows.map(({ pid }) => pid);
  };

  const run = startGmsi(['backfill', job], { cwd: folder.path, env: accessTo(warehouse, sandbox) });
  let writing: number | undefined;
  await vi.waitFor(async () => {
    [writing] = await sessionsThat(`wait_event = 'advisory'`);
    expect(writing, run.stderr).toBeDefined();
  }, patiently);
  run.kill('SIGSTOP');
  await gate.query('select pg_advisory_unlock(42)');
  await gate.end();
  // All that is missing is the COMMIT.
  await vi.waitFor(async () => {
    expect(await sessionsThat(`state = 'idle in transaction'`)).toContain(writing);
  }, patiently);

  const { rows } = await sql<{ moment: string }>`select clock_timestamp()::text as moment`.execute(db);
  const { moment } = rows[0]!;
  await vi.waitFor(async () => {
    const { rows: settled } = await sql<{ yes: boolean }>`
      select clock_timestamp() > ${moment}::timestamptz + gmsi.as_of_delay() as yes`.execute(db);
    expect(settled[0]!.yes).toBe(true);
  }, patiently);
  const answer = await headlinesAsOf(db, moment);
  expect(answer).toBeLessThan(held.length);
  expect(await sessionsThat(`pid = ${writing}`), 'a session that can only be rolled back').toEqual([]);
  run.kill('SIGCONT');

  expect(await run.ended).toMatchObject({ code: 0 });
  expect(await heldBy(db, quarter)).toEqual(held);
  expect(sandbox.stats()).toMatchObject({ pagesServedTwice: 0, cursorReadsAtOnce: 1 });
  expect(await headlinesAsOf(db, moment)).toBe(answer);
});
