import fc from 'fast-check';
import { expect, test } from 'vitest';
import { aSandbox, drain, FOOD_IN_US, getPage, NOON, recordsOf } from './client.ts';

test('the limit is 100 and the range the last 7 days and today by default', async () => {
  const sandbox = await aSandbox();
  const pages = await drain(sandbox, { start_date: null, end_date: null });
  const truth = sandbox.truth({ ...FOOD_IN_US, from: '2026-11-13', to: '2026-11-20' });
  expect(pages[0]!.json.limit).toBe(100);
  expect(recordsOf(pages)).toEqual(truth.map(({ wire }) => wire).toReversed());
});

test('a cursor is accepted by a restarted sandbox of the same seed and refused by one of another', async () => {
  const sandbox = await aSandbox({ seed: 'a' });
  const token = (await getPage(sandbox)).json.next_token;
  const [restarted, other] = [await aSandbox({ seed: 'a' }), await aSandbox({ seed: 'b' })];
  const page = await getPage(restarted, { next_token: token });
  expect(page.text).toBe((await getPage(sandbox, { next_token: token })).text);
  expect((await getPage(other, { next_token: token })).status).toBe(400);
});

test('a cursor that is changed in any place is refused', async () => {
  const sandbox = await aSandbox({ tokenErrorStatus: 410 });
  const token: string = (await getPage(sandbox)).json.next_token;
  await fc.assert(
    fc.asyncProperty(
      fc.nat(token.length - 1),
      fc.constantFrom('A', 'z', '+', '/', '=', ' '),
      async (at, character) => {
        fc.pre(token[at] !== character);
        const tampered = token.slice(0, at) + character + token.slice(at + 1);
        expect((await getPage(sandbox, { next_token: tampered })).status).toBe(410);
      },
    ),
    { numRuns: 30 },
  );
});

test.each([
  [
    'headlines that change',
    { changes: { withdrawn: 0.5 } },
    { start_date: '2026-11-01', end_date: '2026-11-10' },
  ],
  ['cursors that expire', { tokenLifetimeMs: 60_000 }, {}],
  ['a day that is not over', {}, { start_date: '2026-11-20', end_date: '2026-11-20' }],
])('a page with %s is made anew each time', async (_what, options, query) => {
  let now = NOON.getTime();
  const sandbox = await aSandbox({ ...options, clock: () => new Date(now) });
  const before = await getPage(sandbox, query);
  now += 24 * 3_600_000;
  expect((await getPage(sandbox, query)).text).not.toBe(before.text);
});
