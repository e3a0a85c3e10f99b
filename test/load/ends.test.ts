import { describe, expect, vi } from 'vitest';
import { exitCodeOfOutcome } from '../../src/exit.ts';
import { type LoadEnd, moreSevere } from '../../src/load/ends.ts';
import { KeyRefused } from '../../src/service/errors.ts';
import { aGate } from '../support/a-gate.ts';
import { aJobFor, runBackfill, runSync } from '../support/run-backfill.ts';
import { serving } from '../support/serving.ts';
import { countRows, sqlIn } from '../support/warehouse-state.ts';

const scope = { countries: ['US', 'DE'], topics: ['Inflation-Food'], from: '2026-07-01', to: '2026-09-30' };
const trouble = { kind: 'server-error', times: 1e6 } as const;
const refusal = { kind: 'refuse', status: 422, detail: 'no', times: 1e6 } as const;

const it = serving({ volume: 0.1 });

describe('a run in which windows fail', () => {
  const service = { concurrency: 1, page_size: 1000, max_attempts: 1 };
  const budget = { requests_per_month: 14, reserve: 0 };

  it('and that then spends the budget ends as budget (75)', async ({ db, sandbox }) => {
    const job = aJobFor(scope, { step: 'P10D', service, budget });
    let asked = 0;
    sandbox.script([{ ...trouble, match: ({ path }) => path.includes('/feed/') && ++asked % 2 === 0 }]);
    const result = await runBackfill({ job, db, sandbox });
    expect(result.windows.failed).toBeGreaterThan(0);
    expect(result.totals.windows_drained).toBeGreaterThan(0);
    expect(result).toMatchObject({ outcome: 'budget', error: { kind: 'budget' } });
    expect(exitCodeOfOutcome(result.outcome)).toBe(75);

    sandbox.script([]);
    const next = () => new Date('2026-12-01T00:00:00Z');
    const rich = aJobFor(scope, { step: 'P10D', service });
    const rerun = await runBackfill({ job: rich, db, sandbox, clock: next });
    expect(rerun, 'takes up both').toMatchObject({ outcome: 'done', windows: { failed: 0, pending: 0 } });
  });

  it('and that meets a refused key on its way out ends as failed (2)', async ({ db, sandbox }) => {
    const job = aJobFor(scope, { step: 'P10D', service: { ...service, concurrency: 2 } });
    // One request is under way, and held, until so many others have failed that the run is hopeless.
    let failed = 0;
    let first = true;
    const { held: whenHopeless, letGo: hopeless } = aGate();
    sandbox.script([{ kind: 'server-error', times: 1e6, match: ({ path }) => path.includes('/feed/') }]);
    const result = await runBackfill({
      job,
      db,
      sandbox,
      async aroundPage(ask) {
        if (first) {
          first = false;
          await whenHopeless;
          throw new KeyRefused(401, 'revoked');
        }
        try {
          return await ask();
        } finally {
          // As many as may fail in a row: 10 and the concurrency.
          if (++failed === 12) setTimeout(hopeless);
        }
      },
    });
    expect(failed).toBe(12);
    expect(result).toMatchObject({ outcome: 'failed', error: expect.any(KeyRefused) });
    expect(result.windows).toMatchObject({ draining: 0, failed: 12 });
  });
});

it('a run that is stopped while it claims a window asks for none of its pages', async ({ db, sandbox }) => {
  await sqlIn(db)`
    create function public.wait() returns trigger language plpgsql as
      $$ begin perform pg_advisory_xact_lock(7); return new; end $$`;
  await sqlIn(db)`
    create trigger slow_claims before update on gmsi.queue for each row when (new.state = 'draining') execute function public.wait()`;
  const stop = new AbortController();
  const { run } = await db.transaction().execute(async (trx) => {
    await sqlIn(trx)`select pg_advisory_xact_lock(7)`;
    const run = runBackfill({ job: aJobFor(scope), db, sandbox, stop: stop.signal });
    const waiting = () => sqlIn(trx)`select from pg_locks where locktype = 'advisory' and not granted`;
    await vi.waitFor(async () => expect((await waiting()).length).toBeGreaterThan(0));
    stop.abort();
    return { run };
  });
  expect(await run).toMatchObject({ outcome: 'interrupted', totals: { pages: 0 }, windows: { draining: 0 } });
});

it.each<[string, LoadEnd['outcome'], LoadEnd['outcome']]>([
  ['a refused key counts more than a spent budget', 'failed', 'budget'],
  ['a spent budget counts more than windows that failed', 'budget', 'incomplete'],
  ['a spent budget counts more than being interrupted', 'budget', 'interrupted'],
  ['being interrupted counts more than windows that failed', 'interrupted', 'incomplete'],
  ['windows that failed count more than nothing', 'incomplete', 'done'],
])('%s, whichever came first', (_, more, less) => {
  const [one, other] = [
    { outcome: more, error: new Error('one') },
    { outcome: less, error: undefined },
  ];
  expect(moreSevere(one, other)).toBe(one);
  expect(moreSevere(other, one)).toBe(one);
});

describe('failures of the live feed', () => {
  const topics = [
    ...'Inflation-Food, Policy Outlook, Independence, Fiscal Stance, Public Debt, Wars'.split(', '),
    ...'Tension, Trade Activity, Foreign Investment, Elections, Public Health, Natural Disasters'.split(', '),
  ];
  const many = { countries: ['US', 'DE'], topics, from: '2026-11-19', to: '2026-11-20' };
  const isLive = ({ path }: { path: string }) => path.includes('/live/');
  const job = aJobFor(many, { end_date: 'today', service: { concurrency: 1 } });

  it('that are scattered do not end a sync, however many they are', async ({ db, sandbox }) => {
    let asked = 0;
    sandbox.script([{ ...refusal, match: (request) => isLive(request) && ++asked % 2 === 0 }]);
    const result = await runSync({ job, db, sandbox });
    expect(asked).toBe(24);
    expect(result).toMatchObject({ outcome: 'incomplete', error: undefined });
    expect(result.live).toMatchObject({ series: 12, failed: 12 });
  });

  it('one after the other end it, long before all of its series were asked for', async ({ db, sandbox }) => {
    sandbox.script([{ ...refusal, match: isLive }]);
    const result = await runSync({ job, db, sandbox });
    expect(result.live).toMatchObject({ series: 0, failed: 11 });
    expect(String(result.error)).toContain('422');
    expect(await countRows(db, 'live_sightings')).toBe(0);
  });
});
