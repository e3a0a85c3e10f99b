import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { startSandbox } from '../../src/sandbox/index.ts';
import { connect } from '../../src/warehouse/connect.ts';
import { findBinaries } from '../../src/warehouse/embedded/binaries.ts';
import { sharedRoot } from '../../src/warehouse/embedded/location.ts';
import { useEmbeddedServer } from '../../src/warehouse/embedded/server.ts';
import { migrate } from '../../src/warehouse/migrate.ts';
import { aJobFor, runBackfill } from '../support/run-backfill.ts';
import { heldBy, servedBy } from '../support/truth.ts';
import { coverageOf } from '../support/warehouse-state.ts';

const clock = () => new Date('2026-11-20T12:00:00Z');
const scope = { countries: ['US', 'DE'], topics: ['Inflation-Food'], from: '2026-09-01', to: '2026-09-30' };
const job = aJobFor(scope, { step: 'P15D', service: { end_date: 'inclusive', page_size: 40 } });

describe('a warehouse whose server is restarted in the middle of a load', () => {
  it('in order, then as if it had crashed, is loaded on as soon as it is back', {
    timeout: 60_000,
  }, async () => {
    await using server = await aServer();
    await using sandbox = await startSandbox({ limits: null, clock });
    const db = connect({ kind: 'url', url: server.url }, 6);
    try {
      await migrate(db);
      let asked = 0;
      const result = await runBackfill({
        ...{ job, db, sandbox, clock },
        aroundPage: async (ask) => {
          const page = await ask();
          asked++;
          if (asked === 5) await server.restart('fast');
          if (asked === 12) await server.restart('immediate');
          return page;
        },
      });
      expect(asked).toBeGreaterThanOrEqual(12);
      expect(result).toMatchObject({ outcome: 'done', windows: { drained: 4 } });
      expect(sandbox.stats()).toMatchObject({ pagesServedTwice: 0, cursorReadsAtOnce: 1 });
      expect(await heldBy(db, scope)).toEqual(servedBy(sandbox, scope));
      expect(await coverageOf(db)).toEqual({
        'US Inflation-Food COMBINED': '{[2026-09-01,2026-10-01)}',
        'DE Inflation-Food COMBINED': '{[2026-09-01,2026-10-01)}',
      });
    } finally {
      await db.destroy();
    }
  });
});

/** A server of this test's own, which comes back at the same port when it is restarted. */
async function aServer() {
  const home = await mkdtemp(join(tmpdir(), 'gmsi-restart-'));
  const server = await useEmbeddedServer(home);
  const { cluster, account } = server.location;
  const { pgCtl } = findBinaries(account, () => sharedRoot(home, account));
  const control = async (...args: string[]) => {
    // The started server would hold a pipe open for as long as it runs.
    const quiet = ['-l', join(cluster, 'data', 'server.log'), '-w', '-D', join(cluster, 'data')];
    await promisify(execFile)(pgCtl, [...args, ...quiet], { ...account, cwd: '/' });
  };
  return {
    url: server.url,
    restart: (mode: 'fast' | 'immediate') => control('restart', '-m', mode),
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      await control('stop', '-m', 'immediate');
      await rm(home, { recursive: true, force: true });
      if (server.location.justMoved) await rm(cluster, { recursive: true, force: true });
    },
  };
}
