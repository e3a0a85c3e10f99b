import { expect, test } from 'vitest';
import { BudgetSpent, capRequests, type Permits, unlimited } from '../../src/service/permits.ts';

const never = new AbortController().signal;

const isReached = (most: number) => ({
  kind: 'budget',
  message: `This run has reached its request limit: ${most} of ${most} sent.`,
});

test('a cap is shared by all permits that it wraps', async () => {
  const cap = capRequests(3);
  const [one, other] = [cap(unlimited), cap(unlimited)];
  const taken = await Promise.allSettled([one, other, one, other, one].map((permits) => permits.take(never)));
  expect(taken.map(({ status }) => status)).toEqual([
    'fulfilled',
    'fulfilled',
    'fulfilled',
    'rejected',
    'rejected',
  ]);
  await expect(other.take(never)).rejects.toMatchObject(isReached(3));
});

test('a cap does not count a permit that is cancelled, or that there never was', async () => {
  const spent: Permits = { take: () => Promise.reject(new BudgetSpent('of the month')) };
  const cap = capRequests(1);
  const permits = cap(unlimited);
  await expect(cap(spent).take(never)).rejects.toThrow('of the month');
  await (await permits.take(never)).cancel();
  await permits.take(never);
  await expect(permits.take(never)).rejects.toMatchObject(isReached(1));
});
