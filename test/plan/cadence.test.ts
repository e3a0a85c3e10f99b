import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type PollHistory, pollInterval } from '../../src/plan/cadence.ts';

const hourMs = 3600 * 1000;
const dayMs = 24 * hourMs;
const begin = Date.UTC(2026, 0, 1);

/** The last poll at `polledAt` hours after the begin, in a silence of so many of them. */
const aHistory = (polledAt: number, silence: number): PollHistory => ({
  polledAt: new Date(begin + polledAt * hourMs),
  newsAt: new Date(begin + (polledAt - silence) * hourMs),
});

const histories = fc
  .tuple(fc.nat(10_000), fc.integer({ min: -100, max: 10_000 }))
  .map(([polledAt, silence]) => aHistory(polledAt, silence));
const someDays = fc.integer({ min: 1, max: 60 });

describe('the interval between polls', () => {
  it('is the bound or a quarter of the silence, zero after news, and never shrinks in a silence', () => {
    fc.assert(
      fc.property(histories, fc.nat(500), someDays, (history, hours, longestDays) => {
        const interval = pollInterval(history, longestDays);
        expect(interval).toBeGreaterThanOrEqual(0);
        expect(interval).toBeLessThanOrEqual(longestDays * dayMs);
        const silence = history.polledAt.getTime() - history.newsAt.getTime();
        expect(interval * 4).toBeLessThanOrEqual(Math.max(0, silence));
        expect(pollInterval({ ...history, newsAt: history.polledAt }, longestDays)).toBe(0);
        const polledAt = new Date(history.polledAt.getTime() + hours * hourMs);
        expect(pollInterval({ ...history, polledAt }, longestDays)).toBeGreaterThanOrEqual(interval);
      }),
    );
  });

  it.each([
    [0, 0],
    [12, 3],
    [4 * 24, 24],
    [100 * 24, 7 * 24],
  ])('after %i hours of silence is %i hours', (silence, hours) => {
    expect(pollInterval(aHistory(5000, silence), 7)).toBe(hours * hourMs);
  });
});
