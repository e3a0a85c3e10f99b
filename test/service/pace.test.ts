import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { RateLimited, ServiceUnavailable } from '../../src/service/errors.ts';
import { createPace, type PaceOptions } from '../../src/service/pace.ts';
import { type Permits, unlimited } from '../../src/service/permits.ts';
import { defaultPatience } from '../../src/service/retry.ts';
import { jumpingClock, standingClock } from '../service/clocks.ts';

const never = new AbortController().signal;

function pace(changes: Partial<PaceOptions> = {}) {
  const created = createPace({
    permits: unlimited,
    concurrency: 8,
    patience: { ...defaultPatience, raiseAfter: 3 },
    clock: jumpingClock(),
    random: () => 0.5,
    onSlowed: () => {},
    ...changes,
  });
  onTestFinished(() => created.close());
  return created;
}

const limited = (retryAfterMs?: number) => async () => {
  throw new RateLimited('slow down', { retryAfterMs });
};

/** Requests that stay under way until each is let go. */
function held() {
  const under: (() => void)[] = [];
  const send = () => new Promise<void>((resolve) => under.push(resolve));
  return { under, send };
}

describe('createPace', () => {
  test('lets no more requests be under way than the concurrency', async () => {
    const { under, send } = held();
    const { run } = pace({ concurrency: 3 });
    const all = Array.from({ length: 7 }, () => run(send, never));
    await vi.waitFor(() => expect(under).toHaveLength(3));
    for (let sent = 3; sent < 7; sent += 1) {
      under[sent - 3]!();
      await vi.waitFor(() => expect(under).toHaveLength(sent + 1));
    }
    for (const answer of under) answer();
    await Promise.all(all);
  });

  test('one 429 pauses every request until the service wants them again', async () => {
    const clock = standingClock();
    const { run } = pace({ clock });
    await expect(run(limited(5000), never)).rejects.toThrow(RateLimited);
    const send = vi.fn(async () => 'page');
    const others = [run(send, never), run(send, never), run(send, never)];

    expect(clock.sleeping).toBe(3);
    clock.advance(4999);
    expect(clock.sleeping).toBe(3);
    expect(send).not.toHaveBeenCalled();

    clock.advance(1);
    await expect(Promise.all(others)).resolves.toEqual(['page', 'page', 'page']);
  });

  test('a 429 that wants a shorter pause does not cut short the one that is under way', async () => {
    const clock = standingClock();
    const { run } = pace({ clock });
    const answers: (() => void)[] = [];
    const both = [5000, 1000].map((retryAfterMs) =>
      run(async () => {
        await new Promise<void>((resolve) => answers.push(resolve));
        throw new RateLimited('slow down', { retryAfterMs });
      }, never),
    );
    await vi.waitFor(() => expect(answers).toHaveLength(2));
    for (const answer of answers) answer();
    const ends = await Promise.allSettled(both);
    expect(ends.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    const send = vi.fn(async () => 'page');
    const other = run(send, never);
    clock.advance(4999);
    expect(send).not.toHaveBeenCalled();
    expect(clock.sleeping).toBe(1);
    clock.advance(1);
    await expect(other).resolves.toBe('page');
  });

  test('a request that waits for its slot when the pause begins does not slip through', async () => {
    const clock = standingClock();
    const { run } = pace({ clock, concurrency: 1 });
    const send = vi.fn(async () => 'page');
    const first = run(limited(5000), never);
    const second = run(send, never);
    await expect(first).rejects.toThrow(RateLimited);
    await vi.waitFor(() => expect(clock.sleeping).toBe(1));
    expect(send).not.toHaveBeenCalled();
    clock.advance(5000);
    await expect(second).resolves.toBe('page');
  });

  test('halves the concurrency at each 429, down to one', async () => {
    const onSlowed = vi.fn();
    const created = pace({ onSlowed });
    for (const lowered of [4, 2, 1, 1]) {
      await expect(created.run(limited(10), never)).rejects.toThrow(RateLimited);
      expect(created.concurrency).toBe(lowered);
    }
    const { under, send } = held();
    const both = [created.run(send, never), created.run(send, never)];
    await vi.waitFor(() => expect(under).toHaveLength(1));
    under[0]!();
    await vi.waitFor(() => expect(under).toHaveLength(2));
    under[1]!();
    await Promise.all(both);
  });

  test('429s of requests that were under way together lower the concurrency once', async () => {
    const created = pace();
    const { under, send } = held();
    const all = Array.from({ length: 8 }, () => created.run(() => send().then(limited(10)), never));
    await vi.waitFor(() => expect(under).toHaveLength(8));
    for (const answer of under) answer();
    await Promise.allSettled(all);
    expect(created.concurrency).toBe(4);
  });

  test('raises the concurrency by one after enough good answers, up to what was set', async () => {
    const created = pace({ concurrency: 4 });
    const seen: number[] = [];
    await expect(created.run(limited(10), never)).rejects.toThrow(RateLimited);
    for (let answers = 0; answers < 9; answers += 1) {
      await created.run(async () => {}, never);
      seen.push(created.concurrency);
    }
    expect(seen).toEqual([2, 2, 3, 3, 3, 4, 4, 4, 4]);
  });

  test('other failures neither pause nor lower', async () => {
    const created = pace();
    const down = async () => {
      throw new ServiceUnavailable('down');
    };
    await expect(created.run(down, never)).rejects.toThrow('down');
    expect(created.concurrency).toBe(8);
  });

  test('a request that is aborted while it waits is never sent', async () => {
    const stop = new AbortController();
    const { under, send } = held();
    const { run } = pace({ concurrency: 1 });
    const first = run(send, never);
    await vi.waitFor(() => expect(under).toHaveLength(1));
    const late = vi.fn();
    const waiting = run(late, stop.signal);
    stop.abort(new Error('interrupted'));
    await expect(waiting).rejects.toThrow('interrupted');
    under[0]!();
    await first;
    await run(async () => {}, never); // was queued behind it
    expect(late).not.toHaveBeenCalled();
  });

  test('nothing comes between the permit and the sending, and a permit that comes in a pause is cancelled', async () => {
    const clock = standingClock();
    const steps: string[] = [];
    const leave = held();
    const permits: Permits = {
      take: async () => {
        steps.push('asked');
        await leave.send();
        return { cancel: async () => void steps.push('cancelled') };
      },
    };
    const { run } = pace({ clock, permits });
    const sent = run(async () => void steps.push('sent'), never);
    const other = run(limited(5000), never);
    await vi.waitFor(() => expect(leave.under).toHaveLength(2));
    leave.under[1]!();
    await expect(other).rejects.toThrow(RateLimited);
    leave.under[0]!();
    await vi.waitFor(() => expect(clock.sleeping).toBe(1));
    clock.advance(5000);
    await vi.waitFor(() => expect(leave.under).toHaveLength(3));
    leave.under[2]!();
    await sent;
    expect(steps).toEqual(['asked', 'asked', 'cancelled', 'asked', 'sent']);
  });

  test('requests that still wait at its closing fail', async () => {
    const { under, send } = held();
    const created = pace({ concurrency: 1 });
    const first = created.run(send, never);
    await vi.waitFor(() => expect(under).toHaveLength(1));
    const waiting = created.run(send, never);
    const closing = created.close();
    await expect(waiting).rejects.toThrow('stopped');
    under[0]!();
    await first;
    await closing;
  });
});
