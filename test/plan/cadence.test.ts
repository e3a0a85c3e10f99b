import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type PollHistory, pollInterval } from '../../src/plan/cadence.ts';

const hourMs = 3600 * 1000;
const dayMs = 24 * hourMs;
const begin = Date.UTC(2026, 0, 1);

/** Polls at `polledAt` hours after the begin, silent for so many of them. */
const aHistory = (polledAt: number, silence: number, quietPolls: number): PollHistory => ({
  polledAt: new Date(begin + polledAt * hourMs),
  newsAt: new Date(begin + (polledAt - silence) * hourMs),
  quietPolls,
});

const histories = fc
  .tuple(fc.nat(10_000), fc.nat(10_000), fc.nat(200))
  .map(([polledAt, silence, quietPolls]) => aHistory(polledAt, silence, quietPolls));
const someDays = fc.integer({ min: 1, max: 60 });

describe('the interval between polls', () => {
  it('is no longer than the bound and a quarter of the silence, zero after news, and never shrinks in a silence', () => {
    fc.assert(
      fc.property(histories, fc.nat(500), someDays, (history, hours, longestDays) => {
        const interval = pollInterval(history, longestDays);
        expect(interval).toBeGreaterThanOrEqual(0);
        expect(interval).toBeLessThanOrEqual(longestDays * dayMs);
        expect(interval * 4).toBeLessThanOrEqual(history.polledAt.getTime() - history.newsAt.getTime());
        expect(pollInterval({ ...history, newsAt: history.polledAt, quietPolls: 0 }, longestDays)).toBe(0);
        const polledAt = new Date(history.polledAt.getTime() + hours * hourMs);
        const later = { ...history, polledAt, quietPolls: history.quietPolls + 1 };
        expect(pollInterval(later, longestDays)).toBeGreaterThanOrEqual(interval);
      }),
    );
  });

  it.each([
    [2, 100 * 24, 0],
    [3, 12, 3],
    [3, 4 * 24, 24],
    [50, 100 * 24, 7 * 24],
  ])('after %i quiet polls and %i hours of silence is %i hours', (quietPolls, silence, hours) => {
    expect(pollInterval(aHistory(5000, silence, quietPolls), 7)).toBe(hours * hourMs);
  });
});
