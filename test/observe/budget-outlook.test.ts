import { describe, expect, it } from 'vitest';
import { budgetOutlook } from '../../src/observe/job-standing.ts';

const now = new Date('2026-11-21T00:00:00Z');

describe('the outlook of a budget', () => {
  it('adds to what is used what the schedules take until the first of the month', () => {
    expect(budgetOutlook(1_000, 5_000, 100, now)).toEqual({
      ...{ used: 1_000, limit: 5_000, projected: 2_000, spentBy: null },
    });
  });

  it('says when the last request goes, if that is within the month', () => {
    expect(budgetOutlook(4_500, 5_000, 100, now)).toMatchObject({
      ...{ projected: 5_500, spentBy: new Date('2026-11-26T00:00:00Z') },
    });
  });

  it('is spent now if nothing is left, with a schedule or without', () => {
    for (const perDay of [0, 100]) expect(budgetOutlook(5_000, 5_000, perDay, now).spentBy).toEqual(now);
  });
});
