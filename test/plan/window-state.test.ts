import { describe, expect, test } from 'vitest';
import { nextWindowState, statesBefore, windowEvents, windowStates } from '../../src/plan/window-state.ts';

const allowed: Record<string, string> = {
  'pending claim': 'draining',
  'pending refuse': 'refused',
  'draining claim': 'draining',
  'draining page': 'draining',
  'draining finish': 'drained',
  'draining fail': 'failed',
  'draining release': 'pending',
  'draining refuse': 'refused',
  'failed claim': 'draining',
  'failed refuse': 'refused',
  'drained replan': 'pending',
  'refused replan': 'pending',
  'refused doubt': 'failed',
};

describe('the states of a window', () => {
  const every = windowStates.flatMap((state) => windowEvents.map((event) => ({ state, event })));

  test.each(every)('$state, $event: is decided', ({ state, event }) => {
    expect(nextWindowState(state, event)).toBe(allowed[`${state} ${event}`] ?? null);
  });

  test('an update can tell which states an event may find', () => {
    expect(statesBefore('claim')).toEqual(['pending', 'draining', 'failed']);
    expect(statesBefore('finish')).toEqual(['draining']);
    expect(statesBefore('replan')).toEqual(['drained', 'refused']);
  });

  test('a drained window is only planned anew, and only pages of a claimed window can drain it', () => {
    const waysOut = windowEvents.filter((event) => nextWindowState('drained', event) !== null);
    expect(waysOut).toEqual(['replan']);
    const waysToDrained = every.filter(({ state, event }) => nextWindowState(state, event) === 'drained');
    expect(waysToDrained).toEqual([{ state: 'draining', event: 'finish' }]);
  });
});
