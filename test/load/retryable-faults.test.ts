import { describe, expect } from 'vitest';
import type { ScriptedFault, SeenRequest } from '#sandbox';
import { aJobFor, runBackfill } from '../support/run-backfill.ts';
import { aSandbox, it } from '../support/serving.ts';
import { heldBy, servedBy } from '../support/truth.ts';
import { windowsOf } from '../support/warehouse-state.ts';

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

describe('a fault that passes', () => {
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
    expect(first).toMatchObject({ outcome: 'incomplete', windows: { failed: 1, drained: 1 } });
    const failed = (await windowsOf(db)).find(({ state }) => state === 'failed')!;
    expect(failed.last_error).toMatch(/503.*given up after 4 tries/);
    expect(failed.pages).toBe(1);

    expect((await runBackfill({ job, db, sandbox })).outcome).toBe('done');
    expect(sandbox.stats().pagesServedTwice).toBe(0);
    expect(await heldBy(db, scope)).toEqual(servedBy(sandbox, scope));
  });
});
