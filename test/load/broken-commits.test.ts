import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { sql } from 'kysely';
import { describe, expect, it, vi } from 'vitest';
import { feedNamed } from '../../src/feeds/catalog.ts';
import { replay } from '../../src/load/replay.ts';
import { startSandbox } from '../../src/sandbox/index.ts';
import { connect, type Warehouse } from '../../src/warehouse/connect.ts';
import { WriteGivenUp } from '../../src/warehouse/errors.ts';
import { migrate } from '../../src/warehouse/migrate.ts';
import { aLog } from '../support/a-log.ts';
import { aRestartableServer } from '../support/restartable-server.ts';
import { aRewritingProxy, renaming } from '../support/rewriting-proxy.ts';
import { aJobFor, runBackfill, runSync } from '../support/run-backfill.ts';
import { aWarehouse } from '../support/test-warehouse.ts';
import { heldBy, servedBy } from '../support/truth.ts';
import { countRows, coverageOf, windowsOf } from '../support/warehouse-state.ts';

const clock = () => new Date('2026-11-20T12:00:00Z');
const scope = { countries: ['US', 'DE'], topics: ['Inflation-Food'], from: '2026-09-01', to: '2026-09-30' };
const job = aJobFor(scope, { step: 'P15D', service: { end_date: 'inclusive', page_size: 12 } });

/** Ends the server's process that writes a certain headline, the first so many times. */
async function breakAt(db: Warehouse, headlineId: string, times: number): Promise<void> {
  await sql`
    create sequence gmsi.broken;
    create function gmsi.break_off() returns trigger language plpgsql as $$
    begin
      -- Counted also by a transaction that is never committed.
      if nextval('gmsi.broken') <= ${sql.lit(times)} then perform pg_terminate_backend(pg_backend_pid()); end if;
      return new;
    end $$;
    create trigger break_off before insert on gmsi.headlines for each row
      when (new.headline_id = ${sql.lit(headlineId)}) execute function gmsi.break_off()`.execute(db);
}

/** How often it was written, or was to be. */
async function timesWritten(db: Warehouse): Promise<number> {
  const { rows } = await sql<{ times: number }>`
    select case when is_called then last_value else 0 end as times from gmsi.broken`.execute(db);
  return rows[0]!.times;
}

/** A headline in the middle of a window of one country. */
function someHeadline(sandbox: Parameters<typeof servedBy>[0], country: string): string {
  const held = servedBy(sandbox, { ...scope, countries: [country], to: '2026-09-15' });
  return held[Math.floor(held.length / 2)]![3] as string;
}

describe('a page that breaks the connection whenever it is committed', () => {
  it('fails its window after three times, saying what to do, and the others are drained; a rerun takes it up', async () => {
    await using warehouse = await aWarehouse();
    await using sandbox = await startSandbox({ limits: null, clock, volume: 0.3 });
    const { db } = warehouse;
    await breakAt(db, someHeadline(sandbox, 'DE'), 1_000);

    const { log, lines } = aLog();
    const first = await runBackfill({ job, db, sandbox, clock, log });
    expect(first).toMatchObject({ outcome: 'incomplete', windows: { drained: 3, failed: 1, draining: 0 } });
    expect(await timesWritten(db)).toBe(3);
    const [failed] = (await windowsOf(db)).filter(({ state }) => state === 'failed');
    expect(failed).toMatchObject({ country: 'DE', first_day: '2026-09-01' });
    expect(failed!.last_error).toMatch(
      /ended the connection during a write: .*, 3 times in a row\. The server's log/,
    );
    expect(lines).toContainEqual(
      expect.objectContaining({ msg: 'a window failed', why: failed!.last_error }),
    );
    expect(failed!.pages, 'what was committed before').toBeGreaterThan(0);
    expect(await countRows(db, 'headlines')).toBe(
      (await windowsOf(db)).reduce((sum, { records }) => sum + records, 0),
    );

    await runBackfill({ job, db, sandbox, clock });
    expect(await timesWritten(db), 'three times a run').toBe(6);
    await sql`drop trigger break_off on gmsi.headlines`.execute(db);
    expect(await runBackfill({ job, db, sandbox, clock })).toMatchObject({ outcome: 'done' });
    expect(await heldBy(db, scope)).toEqual(servedBy(sandbox, scope));
    expect(sandbox.stats().cursorReadsAtOnce).toBe(1);
  });

  it('is committed where it breaks it twice', async () => {
    await using warehouse = await aWarehouse();
    await using sandbox = await startSandbox({ limits: null, clock, volume: 0.3 });
    const { db } = warehouse;
    await breakAt(db, someHeadline(sandbox, 'DE'), 2);
    expect(await runBackfill({ job, db, sandbox, clock })).toMatchObject({
      outcome: 'done',
      windows: { drained: 4, failed: 0 },
    });
    expect(await timesWritten(db)).toBe(3);
    expect(sandbox.stats().pagesServedTwice).toBe(0);
    expect(await heldBy(db, scope)).toEqual(servedBy(sandbox, scope));
  });

  it('is given up as a live answer, too, and the sync says that it is incomplete', async () => {
    await using warehouse = await aWarehouse();
    await using sandbox = await startSandbox({ limits: null, clock, historicalDelayMinutes: 600, volume: 3 });
    const { db } = warehouse;
    const today = { ...scope, from: '2026-11-20', to: '2026-11-20' };
    const newest = sandbox
      .truth({
        country: 'DE',
        topic: 'Inflation-Food',
        matchType: 'COMBINED',
        from: today.from,
        to: today.to,
      })
      .reduce((one, other) => (other.publishedAt > one.publishedAt ? other : one));
    await breakAt(db, newest.id!, 1_000);

    const result = await runSync({ job: aJobFor(today, { end_date: 'today' }), db, sandbox, clock });
    expect(result).toMatchObject({
      outcome: 'incomplete',
      live: { series: 1, failed: 1 },
      windows: { failed: 1 },
    });
    expect(await timesWritten(db), 'three times by each feed').toBe(6);
  });

  it('ends a replay of its record, which a later one takes up', async () => {
    await using warehouse = await aWarehouse();
    await using sandbox = await startSandbox({ limits: null, clock, volume: 0.3 });
    await using renamed = await aRewritingProxy(sandbox, renaming({ publication_time: 'pubTime' }));
    const { db } = warehouse;
    await runBackfill({ job, db, sandbox: renamed, clock });
    const rejected = await countRows(db, 'rejected_records');
    expect(rejected).toBe(servedBy(sandbox, scope).length);
    await breakAt(db, someHeadline(sandbox, 'DE'), 1_000);
    const replayAll = () =>
      replay({
        ...{ warehouse: db, feed: feedNamed('gmsi-headlines'), fields: { published_at: ['pubTime'] } },
        ...{ scope: undefined, job: 'test', dryRun: false, runBy: 'test', batchSize: 100 },
        stop: new AbortController().signal,
      });

    await expect(replayAll()).rejects.toThrow(WriteGivenUp);
    expect(await timesWritten(db)).toBe(3);
    expect((await countRows(db, 'headlines')) + (await countRows(db, 'rejected_records'))).toBe(rejected);
    await sql`drop trigger break_off on gmsi.headlines`.execute(db);
    expect(await replayAll()).toMatchObject({ outcome: 'done' });
    expect(await heldBy(db, scope)).toEqual(servedBy(sandbox, scope));
  });
});

it('a page that crashes the server is tried three times, the server is waited for, and all others are loaded', {
  timeout: 180_000,
}, async () => {
  await using server = await aRestartableServer();
  await using sandbox = await startSandbox({ limits: null, clock, volume: 0.3 });
  const counted = join(await mkdtemp(join(tmpdir(), 'gmsi-crashes-')), 'crashes');
  await chmod(dirname(counted), 0o777);
  const db = connect({ kind: 'url', url: server.url }, 6);
  try {
    await migrate(db);
    const id = someHeadline(sandbox, 'DE');
    // As when the system kills it because its memory is used up. Counted outside, since the server forgets.
    await sql`
      create function gmsi.crash() returns trigger language plpgsql as $$
      begin
        execute format('copy (select 1) to program %L',
                       format('echo >> ${sql.raw(counted)}; kill -9 %s', pg_backend_pid()));
        return new;
      end $$`.execute(db);
    await sql`
      create trigger crash before insert on gmsi.headlines for each row
      when (new.headline_id = ${sql.lit(id)}) execute function gmsi.crash()`.execute(db);

    const result = await runBackfill({ job, db, sandbox, clock });
    expect(result).toMatchObject({ outcome: 'incomplete', windows: { drained: 3, failed: 1, draining: 0 } });
    expect(await readFile(counted, 'utf8')).toBe('\n'.repeat(3));
    const [failed] = (await windowsOf(db)).filter(({ state }) => state === 'failed');
    expect(failed!.last_error).toMatch(/, 3 times in a row\. The server's log/);

    await sql`drop trigger crash on gmsi.headlines`.execute(db);
    expect(await runBackfill({ job, db, sandbox, clock })).toMatchObject({ outcome: 'done' });
    expect(await heldBy(db, scope)).toEqual(servedBy(sandbox, scope));
  } finally {
    await db.destroy();
    await rm(dirname(counted), { recursive: true });
  }
});

it('a server that is away while a page that broke its connection twice is to be committed is waited for, and nothing fails', {
  timeout: 120_000,
}, async () => {
  await using server = await aRestartableServer();
  await using sandbox = await startSandbox({ limits: null, clock, volume: 0.3 });
  const db = connect({ kind: 'url', url: server.url }, 6);
  try {
    await migrate(db);
    await breakAt(db, someHeadline(sandbox, 'DE'), 2);
    const { log, lines } = aLog();
    let asked = 0;
    const result = await runBackfill({
      ...{ job, db, sandbox, clock, log },
      aroundPage: async (ask) => {
        const page = await ask();
        if (++asked !== 9) return page;
        await server.stop();
        // Other pages have tried for seconds by then, more often than a connection may break.
        await vi.waitFor(
          () => expect(lines.some(({ msg }) => msg.startsWith('waiting for the warehouse'))).toBe(true),
          { timeout: 60_000 },
        );
        await server.start();
        return page;
      },
    });
    expect(asked).toBeGreaterThan(9);
    expect(result).toMatchObject({ outcome: 'done', windows: { drained: 4, failed: 0 } });
    expect(sandbox.stats()).toMatchObject({ pagesServedTwice: 0, cursorReadsAtOnce: 1 });
    expect(await heldBy(db, scope)).toEqual(servedBy(sandbox, scope));
    expect(Object.keys(await coverageOf(db))).toHaveLength(2);
  } finally {
    await db.destroy();
  }
});
