import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { type BlockLimiterOptions, createBlockLimiter, type Permit } from '../../src/rate/shared-rate.ts';
import { standingClock } from '../service/clocks.ts';

const never = new AbortController().signal;

/** A limiter whose blocks a test hands out: `asked` has, for each block that was asked for, how many waited. */
function aLimiter() {
  const clock = standingClock(0);
  const asked: number[] = [];
  const answers: { give: (permits: Permit[]) => void; refuse: (error: Error) => void }[] = [];
  const take: BlockLimiterOptions['take'] = (waiting) => {
    asked.push(waiting);
    return new Promise((give, refuse) => answers.push({ give, refuse }));
  };
  const limiter = createBlockLimiter({ take, clock });
  onTestFinished(() => limiter.close());
  const passed: string[] = [];
  const pass = (name: string, signal = never) => limiter.pass(signal).then(() => passed.push(name));
  return { clock, asked, answers, limiter, passed, pass };
}

const at = (...times: number[]): Permit[] => times.map((from) => ({ from, until: from + 500 }));

describe('createBlockLimiter', () => {
  test('lets requests go in the order in which they came, each at its time', async () => {
    const { clock, answers, passed, pass } = aLimiter();
    const all = [pass('a'), pass('b'), pass('c')];
    await vi.waitFor(() => expect(answers).toHaveLength(1));
    answers[0]!.give(at(0, 40));
    await vi.waitFor(() => expect(passed).toEqual(['a']));
    await vi.waitFor(() => expect(clock.sleeping).toBe(1));
    clock.advance(39);
    expect(clock.sleeping).toBe(1);
    clock.advance(1);
    await vi.waitFor(() => expect(answers).toHaveLength(2));
    expect(passed).toEqual(['a', 'b']);
    answers[1]!.give(at(40));
    await Promise.all(all);
    expect(passed).toEqual(['a', 'b', 'c']);
  });

  test('takes nothing before somebody waits, and one block at a time, for all who wait by then', async () => {
    const { asked, answers, pass } = aLimiter();
    expect(asked).toEqual([]);
    const first = pass('a');
    const others = [pass('b'), pass('c')];
    await vi.waitFor(() => expect(asked).toEqual([1]));
    answers[0]!.give(at(0));
    await first;
    await vi.waitFor(() => expect(asked).toEqual([1, 2]));
    answers[1]!.give(at(0, 0));
    await Promise.all(others);
    expect(asked).toEqual([1, 2]);
  });

  test('uses nothing of a block that it comes to too late, as after standing still', async () => {
    const { clock, asked, answers, passed, pass } = aLimiter();
    const all = [pass('a'), pass('b')];
    await vi.waitFor(() => expect(asked).toEqual([1]));
    clock.advance(501);
    answers[0]!.give(at(0, 0));
    await vi.waitFor(() => expect(asked).toEqual([1, 2]));
    expect(passed).toEqual([]);
    answers[1]!.give(at(501, 501));
    await Promise.all(all);
  });

  test('goes on if every block comes too late, as from a database that is always slow', async () => {
    const { clock, asked, answers, passed, pass } = aLimiter();
    const all = [pass('a'), pass('b')];
    for (const block of [0, 1]) {
      await vi.waitFor(() => expect(answers).toHaveLength(block + 1));
      const asking = clock.now();
      clock.advance(600);
      answers[block]!.give(at(asking, asking));
    }
    await Promise.all(all);
    expect(passed).toEqual(['a', 'b']);
    expect(asked).toEqual([1, 2]);
  });

  test('an aborted request leaves its place to the next one', async () => {
    const { answers, passed, pass } = aLimiter();
    const stop = new AbortController();
    const aborted = pass('a', stop.signal);
    const next = pass('b');
    stop.abort(new Error('interrupted'));
    await expect(aborted).rejects.toThrow('interrupted');
    answers[0]!.give(at(0));
    await next;
    expect(passed).toEqual(['b']);
    await expect(pass('c', stop.signal)).rejects.toThrow('interrupted');
  });

  test('an error fails all who wait, and nobody who comes later', async () => {
    const { answers, pass } = aLimiter();
    const both = [pass('a'), pass('b')];
    answers[0]!.refuse(new Error('no warehouse'));
    for (const one of both) await expect(one).rejects.toThrow('no warehouse');
    const later = pass('c');
    await vi.waitFor(() => expect(answers).toHaveLength(2));
    answers[1]!.give(at(0));
    await later;
  });

  test('once it is closed, no request passes', async () => {
    const { limiter, pass } = aLimiter();
    const waiting = pass('a');
    void limiter.close();
    await expect(waiting).rejects.toThrow('stopped');
    await expect(pass('b')).rejects.toThrow('stopped');
  });
});
