import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { RecordTooLarge, standsForLarger, withoutLarge } from '../../src/service/page.ts';

const small = { a: [1, { b: ']"}' }] };

test('what a record was takes the place of one that is too large, and the others stay', () => {
  const large = { text: `"${'x'.repeat(2000)}` };
  const [first, too, last] = withoutLarge([small, large, small], 1500);
  const json = JSON.stringify(large);
  expect([first, last]).toEqual([small, small]);
  expect(too).toEqual({
    digest: `sha256:${createHash('sha256').update(json).digest('hex')}`,
    ...{ bytes: json.length, begins: json.slice(0, 300) },
  });
  expect(standsForLarger(JSON.parse(JSON.stringify(too)))).toBe(true);
  expect(standsForLarger(small)).toBe(false);
});

test('a record is measured in bytes, not in characters', () => {
  const record = '€'.repeat(400);
  expect(withoutLarge([record], 1202)).toEqual([record]);
  expect(withoutLarge([record], 1201)).toEqual([expect.any(RecordTooLarge)]);
});

test('a record of any depth can be measured', () => {
  const deep = JSON.parse(`${'['.repeat(100_000)}${']'.repeat(100_000)}`);
  expect(withoutLarge([deep], 100_000)).toHaveLength(1);
});
