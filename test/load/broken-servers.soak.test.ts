import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { sql } from 'kysely';
import { expect, it, vi } from 'vitest';
import { startSandbox } from '../../src/sandbox/index.ts';
import { connect } from '../../src/warehouse/connect.ts';
import { migrate } from '../../src/warehouse/migrate.ts';
import { aLog } from '../support/a-log.ts';
import { aRestartableServer } from '../support/restartable-server.ts';
import { aJobFor, runBackfill } from '../support/run-backfill.ts';
import { heldBy, servedBy } from '../support/truth.ts';
import { coverageOf, windowsOf } from '../support/warehouse-state.ts';
import { breakAt, someHeadline } from './break-at.ts';

const clock = () => new Date('2026-11-20T12:00:00Z');
const scope = { countries: ['US', 'DE'], topics: ['Inflation-Food'], from: '2026-09-01', to: '2026-09-30' };
const job = aJobFor(scope, { step: 'P15D', service: { end_date: 'inclusive', page_size: 12 } });

it('a page that crashes the server is tried three times, the server is waited for, and a rerun loads the rest', {
  timeout: 180_000,
}, async () => {
  await using server = await aRestartableServer();
  await using sandbox = await startSandbox({ limits: null, clock, volume: 0.3 });
  const counted = join(await mkdtemp(join(tmpdir(), 'gmsi-crashes-')), 'crashes');
  await chmod(dirname(counted), 0o777);
  const db = connect({ kind: 'url', url: server.url }, 6);
  try {
    await migrate(db);
    const id = someHeadline(sandbox, scope, 'DE');
    // As when the system kills it because its memory is used up. Counted outside, since the server forgets.
    await sql`
      create function gmsi.crash() returns trigger language plpgsql as $$
      begin
        execute format('copy (select 1) to program %L',
                       format('echo >> "${sql.raw(counted)}"; kill -9 %s', pg_backend_pid()));
        return new;
      end $$`.execute(db);
    await sql`
      create trigger crash before insert on gmsi.headlines for each row
      when (new.headline_id = ${sql.lit(id)}) execute function gmsi.crash()`.execute(db);

    const result = await runBackfill({ job, db, sandbox, clock });
    // Windows whose connections it broke three times, too, fail with it.
    expect(result).toMatchObject({ outcome: 'incomplete', windows: { pending: 0, draining: 0 } });
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
    await breakAt(db, someHeadline(sandbox, scope, 'DE'), 2);
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
