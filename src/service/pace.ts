import { addAbortListener } from 'node:events';
import Bottleneck from 'bottleneck';
import { minute } from '../terminal/table.ts';
import type { Clock } from './clock.ts';
import { NotSent, ProxyRefused, RateLimited } from './errors.ts';
import type { Permit, Permits } from './permits.ts';
import type { Patience } from './retry.ts';

export interface PaceOptions {
  readonly permits: Permits;
  /** The most requests under way at a time; fewer after a 429. */
  readonly concurrency: number;
  readonly patience: Patience;
  readonly clock: Clock;
  /** A number from 0 to below 1. */
  readonly random: () => number;
  /** A 429 paused the whole client. */
  readonly onSlowed: (pauseMs: number, concurrency: number) => void;
}

/** Decides when each request of a client may go out. */
export function createPace(options: PaceOptions) {
  const { permits, patience, clock, random, onSlowed } = options;
  const slots = new Bottleneck({ maxConcurrent: options.concurrency });
  let concurrency = options.concurrency;
  let pausedUntil = 0;
  let pausedBecause = '';
  let successes = 0;
  let sent = 0;
  /** Counts reductions, so that several 429s for requests sent together reduce the concurrency only once. */
  let era = 0;
  let closing: Promise<void> | undefined;

  /**
   * Runs `send` as soon as permits, concurrency and pauses allow, and cancels the permit if it was not sent. A `RateLimited`
   * error pauses every request, not just this one, and halves the concurrency.
   * @throws the error of `send` or of taking a permit; the signal's reason if it is aborted while waiting; RateLimited without
   * sending if the service demands a longer pause than `longestWaitMs`
   */
  async function run<T>(send: () => Promise<T>, signal: AbortSignal): Promise<T> {
    for (;;) {
      await pauseOver(signal);
      const done = await inSlot(async () => {
        // A pause may begin while a request waits for its slot or its permit; it then gives them back and waits again.
        if (isPaused()) return undefined;
        const permit = await permits.take(signal);
        if (!isPaused()) return { answer: await watched(send, permit) };
        await permit.cancel();
        return undefined;
      }, signal);
      if (done) return done.answer;
    }
  }

  const isPaused = () => clock.now() < pausedUntil;

  async function pauseOver(signal: AbortSignal): Promise<void> {
    while (isPaused()) {
      const ms = pausedUntil - clock.now();
      if (ms > patience.longestWaitMs) {
        const until = minute(Math.ceil(pausedUntil / 60_000) * 60_000);
        throw new RateLimited(`No request is sent before ${until} UTC. ${pausedBecause}`, {
          retryAfterMs: ms,
          hint: 'The quota of the key may be spent. Run it again after that time; it continues from here.',
        });
      }
      await clock.sleep(ms, signal);
    }
  }

  function inSlot<T>(job: () => Promise<T>, signal: AbortSignal): Promise<T> {
    return new Promise((resolve, reject) => {
      signal.throwIfAborted();
      // Bottleneck cannot remove a job from its queue, so an aborted job stays there and does nothing.
      const waiting = addAbortListener(signal, () => reject(signal.reason));
      const start = () => {
        waiting[Symbol.dispose]();
        signal.throwIfAborted();
        return job();
      };
      slots.schedule(async () => start()).then(resolve, reject);
    });
  }

  async function watched<T>(send: () => Promise<T>, permit: Permit): Promise<T> {
    const sentIn = era;
    sent += 1;
    try {
      const answer = await send();
      await speedUp();
      return answer;
    } catch (error) {
      if (error instanceof RateLimited) await slowDown(error, sentIn);
      if (error instanceof NotSent || error instanceof ProxyRefused) {
        sent -= 1;
        await permit.cancel();
      }
      throw error;
    }
  }

  async function slowDown({ retryAfterMs, message }: RateLimited, sentIn: number): Promise<void> {
    const [least, most] = patience.rateLimitPauseMs;
    const pauseMs = retryAfterMs ?? least + random() * (most - least);
    pausedBecause = message;
    pausedUntil = Math.max(pausedUntil, clock.now() + pauseMs);
    successes = 0;
    const lower = sentIn === era;
    if (lower) {
      era += 1;
      concurrency = Math.max(1, Math.floor(concurrency / 2));
    }
    onSlowed(pauseMs, concurrency);
    if (lower) await slots.updateSettings({ maxConcurrent: concurrency });
  }

  async function speedUp(): Promise<void> {
    successes += 1;
    if (concurrency === options.concurrency || successes < patience.raiseAfter) return;
    successes = 0;
    concurrency += 1;
    await slots.updateSettings({ maxConcurrent: concurrency });
  }

  return {
    run,
    get concurrency() {
      return concurrency;
    },
    /** Requests that have been sent, retries included. */
    get sent() {
      return sent;
    },
    /** Makes waiting requests fail. */
    close: () => (closing ??= slots.stop({ dropWaitingJobs: true })),
  };
}
