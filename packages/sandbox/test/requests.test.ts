import { expect, test } from 'vitest';
import { aSandbox, get, getPage } from './client.ts';

test.each([
  [404, { country: 'ZZ' }],
  [404, { country: 'us' }],
  [422, { topic: 'Inflation' }],
  [422, { topic: null }],
  [422, { match_type: 'BOTH' }],
  [422, { start_date: '2026-02-30', end_date: '2026-03-01' }],
  [422, { start_date: '01.02.2026' }],
  [422, { start_date: '2026-02-01', end_date: '2026-01-31' }],
  [422, { limit: 0 }],
  [422, { limit: 1001 }],
  [422, { limit: 'ten' }],
])('%d answers %j', async (status, query) => {
  const answer = await getPage(await aSandbox(), query);
  expect(answer.status).toBe(status);
  expect(answer.json).toHaveProperty('detail');
});

test.each([
  ['inclusive', '2026-03-31', '2026-04-01', '2026-01-01'],
  ['exclusive', '2026-04-01', '2026-04-02', '2026-01-01'],
] as const)(
  'with an %s end, 90 days may end on %s and no longer on %s',
  async (endDate, last, beyond, start_date) => {
    const sandbox = await aSandbox({ endDate });
    expect((await getPage(sandbox, { start_date, end_date: last })).status).toBe(200);
    expect((await getPage(sandbox, { start_date, end_date: beyond })).status).toBe(422);
  },
);

test('a missing or wrong key is answered with 401', async () => {
  const sandbox = await aSandbox({ keys: ['right', 'right too'] });
  expect((await get(sandbox, '/v1/countries', {}, {})).status).toBe(401);
  expect((await get(sandbox, '/v1/countries', {}, { 'x-api-key': 'wrong' })).status).toBe(401);
  expect((await get(sandbox, '/v1/countries', {}, { 'x-api-key': 'right too' })).status).toBe(200);
});

test('every answer says that it comes from the sandbox', async () => {
  const sandbox = await aSandbox();
  sandbox.script([{ kind: 'html' }]);
  const answers = [
    await getPage(sandbox),
    await getPage(sandbox),
    await getPage(sandbox, { limit: 0 }),
    await get(sandbox, '/v1/countries', {}, {}),
    await get(sandbox, '/v1/nothing'),
  ];
  expect(answers.map(({ status }) => status)).toEqual([502, 200, 422, 401, 404]);
  expect(answers.filter(({ headers }) => headers.server !== 'gmsi-sandbox')).toEqual([]);
});
