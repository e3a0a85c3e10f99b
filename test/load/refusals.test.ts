import { sql } from 'kysely';
import { describe, expect } from 'vitest';
import type { ScriptedFault, SeenRequest } from '#sandbox';
import { KeyRefused } from '../../src/service/errors.ts';
import type { Warehouse } from '../../src/warehouse/connect.ts';
import { aLog } from '../support/a-log.ts';
import { aJobFor, refresh, runBackfill, runSync } from '../support/run-backfill.ts';
import { aSandbox, serving } from '../support/serving.ts';
import { heldBy, servedBy } from '../support/truth.ts';
import { countRows, windowsOf } from '../support/warehouse-state.ts';
import { watchRequests } from '../support/watch-requests.ts';

const scope = { countries: ['US', 'DE'], topics: ['Inflation-Food'], from: '2026-05-01', to: '2026-06-09' };
const job = aJobFor(scope, { step: 'P10D' });

const it = serving({ volume: 0.1 });

describe('a key that is refused', () => {
  it.for([401, 403] as const)(
    'with %i for everything ends the run at once',
    async (status, { db, sandbox }) => {
      let served = 0;
      const requests = watchRequests(sandbox, [
        { kind: 'auth', status, times: 1e6, match: () => ++served > 7 },
      ]);
      const result = await runBackfill({ job, db, sandbox });
      expect(result.outcome).toBe('failed');
      expect(result.error).toBeInstanceOf(KeyRefused);
      // With 403, one more, which tries the key again.
      expect(requests.length).toBeLessThanOrEqual(7 + job.service.concurrency + 1);
      // No window is blamed for it, and none is left claimed.
      expect(result.windows).toMatchObject({ failed: 0, refused: 0, draining: 0 });

      sandbox.script([]);
      const rerun = await runBackfill({ job, db, sandbox });
      expect((await windowsOf(db)).flatMap(({ last_error }) => last_error ?? [])).toEqual([]);
      expect(rerun).toMatchObject({ outcome: 'done', error: undefined });
      expect(await heldBy(db, scope)).toEqual(servedBy(sandbox, scope));
    },
  );

  it('from the start is asked about once, and nothing is planned', async ({ db }) => {
    await using sandbox = await aSandbox({ keys: ['another'] });
    await expect(runBackfill({ job, db, sandbox })).rejects.toBeInstanceOf(KeyRefused);
    expect(sandbox.stats().requests).toBe(1);
    expect(await countRows(db, 'windows')).toBe(0);
  });
});

describe('a request that is refused', () => {
  it.for([404, 422])('with %i omits its window alone, with a reason', async (status, { db, sandbox }) => {
    const detail = 'this window is under repair';
    const refusal: ScriptedFault = {
      kind: 'refuse',
      status,
      detail,
      times: 1e6,
      match: ({ path, query }) => path.endsWith('/DE') && query.start_date === '2026-05-01',
    };
    sandbox.script([refusal]);
    const first = await runBackfill({ job, db, sandbox });
    expect(first.outcome).toBe('incomplete');
    const failed = (await windowsOf(db)).filter(({ state }) => state !== 'drained');
    expect(failed).toHaveLength(1);
    for (const window of failed) {
      expect(window).toMatchObject({ state: 'refused', country: 'DE', attempts: 1 });
      expect(window.first_day).toMatch(/^2026-05/);
      expect(window.last_error).toContain(String(status));
      expect(window.last_error).toContain(detail);
    }
    const other = { ...scope, countries: ['US'] };
    expect(await heldBy(db, other)).toEqual(servedBy(sandbox, other));

    sandbox.script([]);
    const before = sandbox.stats().requests;
    expect((await runBackfill({ job, db, sandbox })).outcome).toBe('done');
    expect(sandbox.stats().requests - before).toBe(failed.length);
    expect(await heldBy(db, scope)).toEqual(servedBy(sandbox, scope));

    // It is requested again by a full refresh, and refused again.
    sandbox.script([refusal]);
    await runBackfill({ job, db, sandbox, plan: refresh });
    const again = (await windowsOf(db)).filter(({ state }) => state !== 'drained');
    expect(again).toMatchObject([{ state: 'refused', country: 'DE', attempts: 1 }]);
  });

  it('of every series ends the run as hopeless before every window has been tried', async ({ db }) => {
    await using sandbox = await aSandbox();
    const match = ({ path }: { path: string }) => path.includes('/feed/');
    sandbox.script([{ kind: 'refuse', status: 422, detail: 'no', times: 1e6, match }]);
    const topics = ['Inflation-Food', 'Policy Outlook', 'Market Stress', 'Wars', 'Elections', 'Tension'];
    const countries = ['US', 'DE', 'GB', 'FR', 'NO', 'SE'];
    const many = aJobFor({ ...scope, topics, countries }, { step: 'P10D' });
    const result = await runBackfill({ job: many, db, sandbox });
    expect(result.outcome).toBe('incomplete');
    expect(result.windows.pending).toBeGreaterThan(0);
    expect(result.totals.requests).toBeLessThan(2 + 10 + 2 * many.service.concurrency);
  });
});

describe('a name that has left the lists of the service', () => {
  const lists = (db: Warehouse, ...countries: string[]) =>
    sql`update gmsi.countries set listed = country = any(${countries}::text[])`.execute(db);
  const earlier = aJobFor({ ...scope, to: '2026-05-20' }, { step: 'P10D' });

  it.for<[string, unknown]>([
    ['named', ['US', 'DE']],
    ['one of all', 'all'],
    ['met by a glob', ['US', 'D*']],
  ])('is said if it is %s, and not requested', async ([, countries], { db, sandbox }) => {
    await runBackfill({ job: earlier, db, sandbox });
    // Those that no load has ever requested are not missed.
    await lists(db, 'US', 'NO');
    const requests = watchRequests(sandbox);
    const { log, lines } = aLog();
    const wanted = aJobFor({ ...scope, countries: countries as string[] }, { step: 'P10D' });
    const result = await runBackfill({ job: wanted, db, sandbox, log });

    const words = 'The service no longer lists country DE, so its missing days are not loaded.';
    expect(result).toMatchObject({ outcome: 'incomplete', error: { message: words } });
    expect(lines).toContainEqual(expect.objectContaining({ level: 40, msg: words }));
    expect(requests.filter(({ path }) => path.endsWith('/DE'))).toEqual([]);
    const us = { ...scope, countries: ['US'] };
    expect(await heldBy(db, us)).toEqual(servedBy(sandbox, us));
    expect(await runSync({ job: wanted, db, sandbox })).toMatchObject({ outcome: 'incomplete' });

    await lists(db, 'US', 'DE');
    const [back, all] = [
      await runBackfill({ job: wanted, db, sandbox }),
      { ...scope, countries: ['US', 'DE'] },
    ];
    expect(back).toMatchObject({ outcome: 'done', error: undefined });
    expect(await heldBy(db, all)).toEqual(servedBy(sandbox, all));
  });

  it('is not missed if all of its days are loaded', async ({ db, sandbox }) => {
    await runBackfill({ job, db, sandbox });
    await lists(db, 'US', 'GB');
    expect(await runBackfill({ job, db, sandbox })).toMatchObject({ outcome: 'done', error: undefined });
  });

  it('was there: one that never was is refused, whatever has left', async ({ db, sandbox }) => {
    await runBackfill({ job, db, sandbox });
    await lists(db, 'US', 'GB');
    const requests = watchRequests(sandbox);
    const wrong = aJobFor({ ...scope, countries: ['US', 'DE', 'UK'] });
    await expect(runBackfill({ job: wrong, db, sandbox })).rejects.toThrow('did you mean "GB"?');
    expect(requests).toEqual([]);
  });
});

describe('a fault that passes', () => {
  const scope = { countries: ['US', 'DE'], topics: ['Inflation-Food'], from: '2026-09-01', to: '2026-09-30' };
  const job = aJobFor(scope, {
    service: { end_date: 'inclusive', page_size: 20, body_timeout: 'PT0.2S', max_attempts: 4 },
  });

  const faults: Record<string, ScriptedFault> = {
    'a connection that is reset': { kind: 'reset' },
    'a body that is cut short': { kind: 'truncate' },
    'a body that stops half-way': { kind: 'hang' },
    "a gateway's page instead of JSON": { kind: 'html', status: 200 },
    "a gateway's 502": { kind: 'html', status: 502 },
    'JSON that is not the envelope': { kind: 'malformed' },
    'a 500': { kind: 'server-error', status: 500 },
    'a 503': { kind: 'server-error', status: 503 },
    'a 504': { kind: 'server-error', status: 504 },
    'a 429 that names seconds': { kind: 'rate-limited', retryAfter: 'seconds', seconds: 0.1 },
    'a 429 that names a date': { kind: 'rate-limited', retryAfter: 'date', seconds: 1 },
    'a 429 that names nothing': { kind: 'rate-limited', retryAfter: 'none' },
  };

  it('of any kind is retried, and nothing is lost or doubled', async ({ db }) => {
    await using sandbox = await aSandbox({ volume: 0.4 });
    // Twelve windows: each kind meets the first page of one, and the second of the next.
    const windows: string[] = [];
    const isIn = (index: number, { path, query }: SeenRequest) => {
      const name = `${path} ${query.start_date}`;
      if (query.start_date !== undefined && !windows.includes(name)) windows.push(name);
      return windows.indexOf(name) === index % Object.keys(faults).length;
    };
    sandbox.script(
      Object.values(faults).flatMap((fault, index) => [
        { ...fault, match: (request) => isIn(index, request) && request.token === null },
        { ...fault, match: (request) => isIn(index + 1, request) && request.token !== null },
      ]),
    );
    const many = { ...job, stepDays: 5 };
    const result = await runBackfill({ job: many, db, sandbox });
    expect(result.outcome).toBe('done');
    expect(windows).toHaveLength(Object.keys(faults).length);
    const kinds = Object.values(faults).map(({ kind }) => kind);
    const met = Object.fromEntries(kinds.map((kind) => [kind, 2 * kinds.filter((k) => k === kind).length]));
    expect(sandbox.stats().faults).toEqual(met);
    expect(result.totals.pages).toBe(sandbox.stats().pages);
    expect(sandbox.stats()).toMatchObject({ pagesServedTwice: 0, cursorReadsAtOnce: 1 });
    expect(await heldBy(db, scope)).toEqual(servedBy(sandbox, scope));
  });

  it('but outlasts all tries fails its window; a rerun goes on from its page', async ({ db }) => {
    await using sandbox = await aSandbox({ volume: 0.3 });
    sandbox.script([
      {
        kind: 'server-error',
        status: 503,
        times: 4,
        match: ({ path, token }) => path.endsWith('/US') && token !== null,
      },
    ]);
    const first = await runBackfill({ job, db, sandbox });
    expect(first).toMatchObject({ outcome: 'incomplete', totals: { windows_failed: 1, windows_drained: 1 } });
    const failed = (await windowsOf(db)).find(({ state }) => state === 'failed')!;
    expect(failed.last_error).toMatch(/503.*given up after 4 tries/);
    expect(failed.pages).toBe(1);

    expect((await runBackfill({ job, db, sandbox })).outcome).toBe('done');
    expect(sandbox.stats().pagesServedTwice).toBe(0);
    expect(await heldBy(db, scope)).toEqual(servedBy(sandbox, scope));
  });
});
