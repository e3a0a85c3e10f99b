import { expect, test } from 'vitest';
import { type Sandbox, type ScriptedFault, startSandbox } from '../src/index.ts';
import { aSandbox, get, getPage, NOON } from './client.ts';

async function withFault(fault: ScriptedFault): Promise<Sandbox> {
  const sandbox = await aSandbox({ records: { missingScores: 0 } });
  sandbox.script([fault]);
  return sandbox;
}

test.each([
  [{ kind: 'rate-limited' }, 429, '1'],
  [{ kind: 'rate-limited', seconds: 3 }, 429, '3'],
  [{ kind: 'rate-limited', retryAfter: 'date', seconds: 2 }, 429, 'Fri, 20 Nov 2026 12:00:02 GMT'],
  [{ kind: 'rate-limited', retryAfter: 'none' }, 429, undefined],
  [{ kind: 'server-error' }, 500, undefined],
  [{ kind: 'server-error', status: 503 }, 503, undefined],
  [{ kind: 'auth', status: 403 }, 403, undefined],
  [{ kind: 'refuse' }, 400, undefined],
] as const)('%j answers with %d and a detail', async (fault, status, retryAfter) => {
  const answer = await getPage(await withFault(fault));
  expect([answer.status, answer.headers['retry-after']]).toEqual([status, retryAfter]);
  expect(answer.json.detail).toEqual(expect.any(String));
});

test('a sandbox stops at once, whatever it still delays', async () => {
  const sandbox = await startSandbox({ limits: null, faults: { script: [{ kind: 'latency', ms: 60_000 }] } });
  const answer = getPage(sandbox).then(
    () => 'answered',
    () => 'cut',
  );
  await expect.poll(() => sandbox.stats().faults.latency).toBe(1);
  await sandbox.stop();
  expect(await answer).toBe('cut');
});

test('a step meets the requests that match it, as often as it says; a new script drops the old one', async () => {
  const sandbox = await aSandbox();
  sandbox.script([
    {
      kind: 'server-error',
      times: 2,
      match: ({ query, path }) => path.endsWith('/GB') && query.limit === '5',
    },
    { kind: 'refuse', times: 1e6, match: ({ path }) => path === '/v1/countries' },
  ]);
  const ask = async (country: string, limit: number) => (await getPage(sandbox, { country, limit })).status;
  expect([await ask('US', 5), await ask('GB', 6)]).toEqual([200, 200]);
  expect([await ask('GB', 5), await ask('GB', 5), await ask('GB', 5)]).toEqual([500, 500, 200]);
  const lookup = async () => (await get(sandbox, '/v1/countries')).status;
  expect([await lookup(), await lookup()]).toEqual([400, 400]);
  sandbox.script([]);
  expect(await lookup()).toBe(200);
  expect(sandbox.stats().faults).toEqual({ 'server-error': 2, refuse: 2 });
});

test('random faults come about as often as they should, and again so with the same seed', async () => {
  const faults = { random: { 'server-error': 0.2, html: 0.1 }, seed: 'dice' };
  const roll = async () => {
    await using sandbox = await startSandbox({ faults, limits: null, clock: () => NOON });
    const statuses: number[] = [];
    for (let i = 0; i < 200; i++) statuses.push((await get(sandbox, '/v1/countries')).status);
    return { statuses, faults: sandbox.stats().faults };
  };
  const first = await roll();
  expect(first.faults['server-error']! / 200).toBeCloseTo(0.2, 1);
  expect(first.faults.html! / 200).toBeCloseTo(0.1, 1);
  expect((await roll()).statuses).toEqual(first.statuses);
});
