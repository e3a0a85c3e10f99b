import { expect, test } from 'vitest';
import type { Sandbox, SandboxOptions } from '../src/index.ts';
import { aSandbox, get, getPage, NOON } from './client.ts';

test('a burst is let through, then as many a second as the rate says', async () => {
  const { sandbox, pass } = await aSandboxWithTime({ limits: { perSecond: 2, burst: 3 } });
  expect(await statuses(sandbox, 5)).toEqual([200, 200, 200, 429, 429]);
  pass(1000);
  expect(await statuses(sandbox, 3)).toEqual([200, 200, 429]);
  pass(60_000);
  expect(await statuses(sandbox, 4)).toEqual([200, 200, 200, 429]);
});

test('every request with a good key counts against the quota of its UTC month, whatever it returns', async () => {
  const { sandbox, pass } = await aSandboxWithTime({ limits: { perMonth: 4, burst: 100 } });
  await getPage(sandbox);
  await getPage(sandbox, { limit: 0 });
  await get(sandbox, '/v1/nothing');
  await get(sandbox, '/v1/countries', {}, { 'x-api-key': 'wrong' });
  expect(await statuses(sandbox, 2)).toEqual([200, 429]);
  expect((await getPage(sandbox)).json.detail).toBe('Monthly quota of 4 requests exceeded');
  pass(Date.parse('2026-11-30T23:59:59Z') - NOON.getTime());
  expect(await statuses(sandbox, 1)).toEqual([429]);
  pass(1000);
  expect(await statuses(sandbox, 1)).toEqual([200]);
});

async function aSandboxWithTime(
  options: SandboxOptions,
): Promise<{ sandbox: Sandbox; pass: (ms: number) => void }> {
  let now = NOON.getTime();
  const sandbox = await aSandbox({ clock: () => new Date(now), ...options });
  return {
    sandbox,
    pass: (ms) => {
      now += ms;
    },
  };
}

async function statuses(sandbox: Sandbox, count: number): Promise<number[]> {
  const seen: number[] = [];
  for (let i = 0; i < count; i++) seen.push((await getPage(sandbox)).status);
  return seen;
}
