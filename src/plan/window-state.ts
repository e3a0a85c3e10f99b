/**
 * - `pending`: planned, or given back with its cursor kept
 * - `draining`: claimed under a lease; its pages are coming in
 * - `drained`: its last page is committed, and with it the coverage
 * - `failed`: given up in this run; a rerun goes on from its cursor
 * - `refused`: the service refused it, or it is older than two windows of its series that were; each run asks again for a few
 */
export const windowStates = ['pending', 'draining', 'drained', 'failed', 'refused'] as const;
export type WindowState = (typeof windowStates)[number];

/**
 * - `claim`: a process takes the window; out of `draining` only where the lease of the process before has run out
 * - `page`: a page that is not the last has been committed
 * - `finish`: the last page has been committed
 * - `fail`: retrying has not helped
 * - `release`: the run stops (budget, interrupt) and gives the window back
 * - `refuse`: the service has refused it, or windows of its series that are younger
 * - `doubt`: older days of its series were answered
 * - `replan`: days that were drained or refused are asked for again
 */
export const windowEvents = [
  'claim',
  'page',
  'finish',
  'fail',
  'release',
  'refuse',
  'doubt',
  'replan',
] as const;
export type WindowEvent = (typeof windowEvents)[number];

/** Total: every event of every state is decided here, `null` where it must not happen. */
const transitions: Record<WindowState, Record<WindowEvent, WindowState | null>> = {
  pending: {
    claim: 'draining',
    page: null,
    finish: null,
    fail: null,
    release: null,
    refuse: 'refused',
    doubt: null,
    replan: null,
  },
  draining: {
    claim: 'draining',
    page: 'draining',
    finish: 'drained',
    fail: 'failed',
    release: 'pending',
    refuse: 'refused',
    doubt: null,
    replan: null,
  },
  drained: {
    claim: null,
    page: null,
    finish: null,
    fail: null,
    release: null,
    refuse: null,
    doubt: null,
    replan: 'pending',
  },
  failed: {
    claim: 'draining',
    page: null,
    finish: null,
    fail: null,
    release: null,
    refuse: 'refused',
    doubt: null,
    replan: null,
  },
  refused: {
    claim: null,
    page: null,
    finish: null,
    fail: null,
    release: null,
    refuse: null,
    doubt: 'failed',
    replan: 'pending',
  },
};

/** The state after an event; `null` where the event must not happen in that state. */
export function nextWindowState(state: WindowState, event: WindowEvent): WindowState | null {
  return transitions[state][event];
}

/** The states in which an event may happen: what a conditional update puts in its `where`. */
export function statesBefore(event: WindowEvent): WindowState[] {
  return windowStates.filter((state) => nextWindowState(state, event) !== null);
}
