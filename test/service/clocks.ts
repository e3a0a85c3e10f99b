import type { Clock } from '../../src/service/clock.ts';

/** A clock that jumps over every sleep at once and remembers how long each one was. */
export function jumpingClock(start = Date.UTC(2026, 0, 1)): Clock & { readonly slept: number[] } {
  let now = start;
  const slept: number[] = [];
  return {
    slept,
    now: () => now,
    async sleep(ms, signal) {
      signal.throwIfAborted();
      slept.push(ms);
      now += ms;
    },
  };
}

/** A clock that stands still until it is moved; `sleeping` says how many wait. */
export function standingClock(start = Date.UTC(2026, 0, 1)): Clock & {
  advance(ms: number): void;
  readonly sleeping: number;
} {
  let now = start;
  let sleepers: { until: number; wake: () => void }[] = [];
  return {
    now: () => now,
    sleep: (ms) => new Promise((wake) => sleepers.push({ until: now + ms, wake })),
    advance(ms) {
      now += ms;
      for (const { until, wake } of sleepers) if (until <= now) wake();
      sleepers = sleepers.filter(({ until }) => until > now);
    },
    get sleeping() {
      return sleepers.length;
    },
  };
}
