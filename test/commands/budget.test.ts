import { expect, it } from 'vitest';
import { budget as command } from '../../src/commands/budget.ts';
import { Secret } from '../../src/secret.ts';
import { countedAs } from '../../src/service/budget.ts';
import { cancelRequest, setRequests, takeRequest } from '../../src/warehouse/tables/requests.ts';
import { aSandboxForAll } from '../support/for-all.ts';
import { aWarehouse, type TestWarehouse } from '../support/test-warehouse.ts';
import { runCommand } from './run-command.ts';

const sandbox = await aSandboxForAll();
const own = countedAs(new Secret('sandbox-key'));
const old = '0f1e2d3c4b5a';
const month = '2026-11-01';

type Options = Parameters<typeof command.run>[1];

async function budget(warehouse: TestWarehouse, options: Options = {}) {
  const run = { warehouse, sandbox, json: true };
  const { output } = await runCommand(run, (session) => command.run(session, options));
  return (
    JSON.parse(output) as { requests: { month: string; key: string; requests: number }[] }
  ).requests.map((one) => [one.month, one.key, one.requests]);
}

const book = ({ db }: TestWarehouse, key: string) => takeRequest(db, { key, month, budget: 1e6, rate: 25 });

it('shows the count of each key and month, that of the key in use also if it is zero', async () => {
  await using warehouse = await aWarehouse();
  expect(await budget(warehouse)).toEqual([['2026-11', own, 0]]);
  await setRequests(warehouse.db, old, '2026-10-01', 70);
  await book(warehouse, old);
  expect(await budget(warehouse)).toEqual([
    ['2026-11', own, 0],
    ['2026-11', old, 1],
    ['2026-10', old, 70],
  ]);
  const { output } = await runCommand({ warehouse, sandbox }, (session) => command.run(session, {}));
  expect(output).toContain(`${own} (this key)`);
  expect(output).not.toContain('sandbox-key');
});

it('sets the count of the key in use, or of another that is known; requests of a load come on top', async () => {
  await using warehouse = await aWarehouse();
  await book(warehouse, old);
  expect(await budget(warehouse, { set: 500 })).toEqual([
    ['2026-11', own, 500],
    ['2026-11', old, 1],
  ]);
  await book(warehouse, own);
  expect(await budget(warehouse, { set: 20, key: old })).toEqual([
    ['2026-11', own, 501],
    ['2026-11', old, 20],
  ]);
  await budget(warehouse, { set: 0 });
  await cancelRequest(warehouse.db, own, month);
  expect(await budget(warehouse)).toContainEqual(['2026-11', own, 0]);
});

it('merges every month of another key, once however often it is run, and what the other key books later', async () => {
  await using warehouse = await aWarehouse();
  const { db } = warehouse;
  await setRequests(db, old, '2026-10-01', 70);
  await setRequests(db, old, month, 40);
  await setRequests(db, own, month, 2);
  await book(warehouse, old);
  const merged = [
    ['2026-11', own, 43],
    ['2026-10', own, 70],
  ];
  expect(await budget(warehouse, { merge: old })).toEqual(merged);
  expect(await budget(warehouse, { merge: old })).toEqual(merged);
  await book(warehouse, old);
  expect(await budget(warehouse, { merge: old })).toContainEqual(['2026-11', own, 44]);
});

it('merges a key again that never sent a request itself, such as one whose count was set', async () => {
  await using warehouse = await aWarehouse();
  await setRequests(warehouse.db, old, month, 40);
  for (let times = 0; times < 2; times++)
    expect(await budget(warehouse, { merge: old })).toEqual([['2026-11', own, 40]]);
});

it('loses no request that two keys book while their counts are merged', async () => {
  await using warehouse = await aWarehouse();
  const each = 60;
  const loads = [old, own].map(async (key) => {
    for (let sent = 0; sent < each; sent++) await book(warehouse, key);
  });
  let isDone = false;
  const ended = Promise.all(loads).then(() => {
    isDone = true;
  });
  await book(warehouse, old);
  while (!isDone) await budget(warehouse, { merge: old });
  await ended;
  expect(await budget(warehouse, { merge: old })).toEqual([['2026-11', own, 2 * each + 1]]);
});

it.each<[Options, string]>([
  [{ key: old }, '--key needs --set.'],
  [{ merge: own }, `${own} is the key in use.`],
])('refuses %j', async (options, message) => {
  await using warehouse = await aWarehouse();
  await expect(budget(warehouse, options)).rejects.toMatchObject({ kind: 'fatal', message });
});

it('refuses an unknown fingerprint with the known ones, and does not print it: it may be a key', async () => {
  await using warehouse = await aWarehouse();
  await book(warehouse, old);
  for (const options of [{ merge: 'a-secret-key' }, { set: 5, key: 'a-secret-key' }]) {
    const error = await budget(warehouse, options).catch((thrown) => thrown);
    expect(error).toMatchObject({ kind: 'fatal', message: 'No requests are booked for this fingerprint.' });
    expect(error.hint).toBe(`Known names: ${old}.`);
  }
});
