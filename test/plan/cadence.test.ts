import fc from 'fast-check';
import { Temporal } from 'temporal-polyfill';
import { describe, expect, it } from 'vitest';
import { nextPollDue, type PollHistory, pollInterval } from '../../src/plan/cadence.ts';

const hourMs = 3600 * 1000;
const dayMs = 24 * hourMs;
const begin = Date.UTC(2026, 0, 1);
const day = (offset: number) => Temporal.PlainDate.from('2026-01-01').add({ days: offset });

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

describe('the next poll', () => {
  it('is due on the day on which the first uncovered day gets as old as it may, at the latest', () => {
    fc.assert(
      fc.property(
        histories,
        fc.nat(400),
        someDays,
        someDays,
        (history, offset, longestDays, maxUncoveredDays) => {
          const due = nextPollDue(history, day(offset), { longestDays, maxUncoveredDays });
          expect(due.getTime()).toBeLessThanOrEqual(begin + (offset + maxUncoveredDays) * dayMs);
          expect(due.getTime()).toBeLessThanOrEqual(history.polledAt.getTime() + longestDays * dayMs);
        },
      ),
    );
  });

  it('comes before any day is older than it may get, if a sync comes by each day', () => {
    fc.assert(
      fc.property(
        fc.record({
          lookback: fc.nat(10),
          slack: fc.integer({ min: 1, max: 20 }),
          longestDays: someDays,
          news: fc.array(fc.nat(90), { maxLength: 5 }),
        }),
        ({ lookback, slack, longestDays, news }) => {
          const bounds = { longestDays, maxUncoveredDays: lookback + slack };
          let firstUncovered = 0;
          let history = aHistory(lookback * 24, 0, 0);
          for (let today = lookback; today < 100; today++) {
            const now = begin + today * dayMs;
            if (nextPollDue(history, day(firstUncovered), bounds).getTime() <= now) {
              firstUncovered = Math.max(firstUncovered, today - lookback);
              const isNews = news.includes(today);
              history = {
                polledAt: new Date(now),
                newsAt: isNews ? new Date(now) : history.newsAt,
                quietPolls: isNews ? 0 : history.quietPolls + 1,
              };
            }
            expect(today - firstUncovered).toBeLessThanOrEqual(bounds.maxUncoveredDays);
          }
        },
      ),
    );
  });
});
