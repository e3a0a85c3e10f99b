import { expect, test } from 'vitest';
import { startSandbox } from '../../src/sandbox/index.ts';
import { aSandbox, drain, FOOD_IN_US, get, getPage, recordsOf } from './client.ts';

test('limits above the cap are refused', async () => {
  const sandbox = await aSandbox({ pageCap: 50 });
  expect((await getPage(sandbox, { limit: 51 })).status).toBe(422);
  expect((await getPage(sandbox, { limit: 50 })).json.data).toHaveLength(50);
  expect((await getPage(sandbox)).json.limit).toBe(50);
  const live = { topic: 'Inflation-Food', limit: 51 };
  expect((await get(sandbox, '/v1/headlines/feed/live/gmsi/US', live)).status).toBe(422);
});

test('or pages above the cap are cut short without a word, and nothing is lost', async () => {
  const sandbox = await aSandbox({ pageCap: 50, pageCapMode: 'silent', volume: 3 });
  const pages = await drain(sandbox, { limit: 1000 });
  expect(pages[0]!.json).toMatchObject({ limit: 1000, has_more: true });
  expect(pages[0]!.json.data).toHaveLength(50);
  const truth = sandbox.truth({ ...FOOD_IN_US, from: '2026-01-01', to: '2026-01-31' });
  expect(recordsOf(pages)).toEqual(truth.map(({ wire }) => wire).toReversed());
  const live = { topic: 'Inflation-Food', limit: 1000 };
  expect((await get(sandbox, '/v1/headlines/feed/live/gmsi/US', live)).json).toHaveLength(50);
});

test.each([
  [{ pageCap: 0 }, 'pageCap is 0'],
  [{ pageCap: 1001 }, 'pageCap is 1001'],
  [{ timeZone: 'Mars/Olympus' }, 'timeZone is "Mars/Olympus"'],
  [{ live: { delaySeconds: -1 } }, 'delaySeconds is -1'],
  [{ historicalDelayMinutes: Number.NaN }, 'historicalDelayMinutes is NaN'],
  [{ faults: { random: { reset: 0.6, hang: 0.6 } } }, 'faults.random adds up to 1.2'],
  [{ faults: { random: { reset: -1 } } }, 'faults.random.reset is -1'],
  [{ changes: { late: 2 } }, 'changes.late is 2'],
  [{ records: { hourShare: Number.NaN } }, 'records.hourShare is NaN'],
  [{ volum: 2 }, 'unknown option volum'],
  [{ limits: { perDay: 2 } }, 'unknown option limits.perDay'],
  [{ archive: { until: '2026-01-01' } }, 'unknown option archive.until'],
])('options %j are refused', async (options: object, message) => {
  await expect(startSandbox(options)).rejects.toThrow(message);
});
