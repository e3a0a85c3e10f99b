/** States of a day of a series, in the order in which their shares are drawn. Other days were never requested. */
export const states = ['covered', 'settling', 'running', 'pending', 'failed', 'refused'] as const;
export type State = (typeof states)[number];

/** The title and the meaning of each state. */
export const stateTitles: Readonly<Record<State | 'never', readonly [title: string, meaning: string]>> = {
  covered: ['covered', 'Loaded completely, and not expected to change.'],
  settling: ['settling', 'Loaded, but it was not over then or may still change: sync loads it again.'],
  running: ['running', 'A load is draining it.'],
  pending: ['waiting', 'Planned, not begun.'],
  failed: ['failed', 'Could not be loaded, even with retries; the next backfill retries it.'],
  refused: ['refused', 'The service refused it.'],
  never: ['never requested', 'No job has requested it.'],
};

/** Reads the days of a series in order, such as `covered 300, failed 20, never 45`. */
export function spansOf(timeline: string): (readonly [state: State | 'never', days: number])[] {
  return timeline.split(', ').map((span) => {
    const [state, days] = span.split(' ');
    return [state as State | 'never', Number(days)];
  });
}

/** Returns the state of a window's days that are not covered. */
export function stateOfWindow(state: string): State {
  if (state === 'draining') return 'running';
  if (state === 'drained') return 'settling';
  return (states as readonly string[]).includes(state) ? (state as State) : 'pending';
}
