import { expect, it } from 'vitest';
import { oneAhead } from '../src/one-ahead.ts';

it('makes the next item while one is in use, and none further', async () => {
  const made: number[] = [];
  const items = oneAhead(
    (async function* () {
      for (let item = 1; item <= 4; item++) {
        made.push(item);
        yield item;
      }
    })(),
  );
  const used: [number, number][] = [];
  for await (const item of items) {
    await new Promise(setImmediate);
    used.push([item, made.length]);
  }
  expect(used).toEqual([
    [1, 2],
    [2, 3],
    [3, 4],
    [4, 4],
  ]);
});

it('throws what fails when it is asked for, after the item before was used', async () => {
  const items = oneAhead(
    (async function* () {
      yield 1;
      throw new Error('no more');
    })(),
  );
  expect(await items.next()).toEqual({ value: 1, done: false });
  await new Promise(setImmediate);
  await expect(items.next()).rejects.toThrow('no more');
});

it('ends what it takes from, once the item in the making is made', async () => {
  let isEnded = false;
  const items = oneAhead(
    (async function* () {
      try {
        while (true) yield await Promise.resolve(1);
      } finally {
        isEnded = true;
      }
    })(),
  );
  for await (const _ of items) break;
  expect(isEnded).toBe(true);
});
