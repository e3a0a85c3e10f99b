import { sql } from 'kysely';
import { beforeEach, expect, it } from 'vitest';
import { isMoved, noCounts } from '../../src/warehouse/commit.ts';
import type { Warehouse } from '../../src/warehouse/connect.ts';
import type { WindowState } from '../../src/warehouse/database.ts';
import { ClaimLost } from '../../src/warehouse/errors.ts';
import { advanceCheckpoint, windowAfter } from '../../src/warehouse/tables/checkpoint.ts';
import { leaveRefused } from '../../src/warehouse/tables/refusals.ts';
import type { WindowScope } from '../../src/warehouse/tables/series.ts';
import { claimWindow, leaveWindow, leaveWindows } from '../../src/warehouse/tables/windows.ts';
import { writeTransaction } from '../../src/warehouse/write-transaction.ts';
import { aLoad, silence } from '../support/a-process.ts';
import { aWarehouseForAll } from '../support/for-all.ts';
import {
  aWindowIn,
  changeWindowsIn,
  coverageOf,
  forgetAllIn,
  sqlIn,
  windowsOf,
} from '../support/warehouse-state.ts';

/** What can happen to a window: by the load that drains it, but for the claims of another load. */
type WindowEvent =
  | 'another load claims it'
  | 'another load claims it after the lease'
  | 'a page'
  | 'the last page'
  | 'the load stops'
  | 'an error'
  | 'a refusal'
  | 'the load ends';

/** `drained`: it has left the queue. */
type State = WindowState | 'drained';

/** A state that no event changes. */
const unmoved = <Of extends State>(state: Of): Record<WindowEvent, Of> => ({
  'another load claims it': state,
  'another load claims it after the lease': state,
  'a page': state,
  'the last page': state,
  'the load stops': state,
  'an error': state,
  'a refusal': state,
  'the load ends': state,
});
const claimed = {
  'another load claims it': 'draining',
  'another load claims it after the lease': 'draining',
} as const;

/** The state after each event, in each state. Whatever a window is not in, only its next claim may change it. */
const after: Record<State, Record<WindowEvent, State>> = {
  pending: { ...unmoved('pending'), ...claimed },
  draining: {
    ...claimed,
    'a page': 'draining',
    'the last page': 'drained',
    'the load stops': 'pending',
    'an error': 'failed',
    'a refusal': 'refused',
    'the load ends': 'pending',
  },
  drained: unmoved('drained'),
  failed: { ...unmoved('failed'), ...claimed },
  refused: unmoved('refused'),
};

let windowId = 0;
const scope: WindowScope = {
  feed: 'gmsi-headlines',
  countries: ['US'],
  topics: ['Wars'],
  tickers: [''],
  matchType: 'COMBINED',
  variants: [''],
  from: '2024-01-01',
  to: '2024-12-31',
};
const asked = { askedOn: '2024-03-01', settledBefore: '2024-02-27' };
const compared = { held: 0, gone: 0, isAccepted: false };

const happen: Record<WindowEvent, (db: Warehouse, loadId: number, other: number) => Promise<unknown>> = {
  'another load claims it': (db, _, other) => claim(db, other),
  'another load claims it after the lease': async (db, loadId, other) => {
    await silence(db, loadId);
    await claim(db, other);
  },
  'a page': (db, loadId) => page(db, loadId, 'next'),
  'the last page': (db, loadId) => page(db, loadId, null),
  'the load stops': (db, loadId) => leaveWindow(db, { windowId, loadId }, { state: 'pending' }),
  'an error': (db, loadId) =>
    leaveWindow(db, { windowId, loadId }, { state: 'failed', cause: 'temporary', error: 'broken' }),
  'a refusal': (db, loadId) => leaveRefused(db, { windowId, loadId }, { status: 422, error: 'too old' }),
  'the load ends': (db, loadId) => leaveWindows(db, loadId),
};

function claim(db: Warehouse, loadId: number) {
  return claimWindow(db, scope, { loadId, leaseSeconds: 60, order: 'newest-first' });
}

/** @returns whether the page was dropped */
async function page(db: Warehouse, loadId: number, nextToken: string | null): Promise<boolean> {
  const at = { windowId, loadId, pages: 0, nextToken: null };
  try {
    const atEnd = nextToken === null ? compared : undefined;
    await db
      .transaction()
      .execute((trx) => advanceCheckpoint(trx, at, nextToken, noCounts, { rowsMet: null, asked }, atEnd));
    return false;
  } catch (error) {
    if (error instanceof ClaimLost) return true;
    throw error;
  }
}

const states = Object.keys(after) as State[];
const events = Object.keys(happen) as WindowEvent[];

const warehouse = await aWarehouseForAll();
beforeEach(() => forgetAllIn(warehouse.db));

/** A window in a state, of a load. */
async function aWindow(state: State): Promise<number> {
  const { db } = warehouse;
  const loadId = await aLoad(db);
  const begun = { drain_started_at: '2024-03-01', asked_on: '2024-03-01', first_unsettled: '2024-02-27' };
  windowId = await aWindowIn(db, '2024-01-01', '2024-01-31', {
    topic: 'Wars',
    state,
    load_id: loadId,
    ...(state === 'draining' && begun),
    ...(state === 'failed' && { finished_at: '2024-02-01' }),
  });
  return loadId;
}

it.each(states.flatMap((state) => events.map((event) => [state, event] as const)))(
  'a window that is %s: %s',
  async (state, event) => {
    const { db } = warehouse;
    const loadId = await aWindow(state);
    const other = await aLoad(db);
    const dropped = await happen[event](db, loadId, other);
    const window = await db.selectFrom('gmsi.windows').selectAll().executeTakeFirstOrThrow();
    expect(window.state).toBe(after[state][event]);
    const isOfOther = event === 'another load claims it' ? state !== 'draining' : event.startsWith('another');
    if (window.state === 'draining') expect(window.load_id).toBe(isOfOther ? other : loadId);
    // A page counts only for the load that drains its window, and days are covered only by its last one.
    if (event.endsWith('page')) expect(dropped).toBe(state !== 'draining');
    expect(Object.keys(await coverageOf(db))).toHaveLength(window.state === 'drained' ? 1 : 0);
  },
);

it.each(events.slice(2))('a load that has lost its window changes nothing: %s', async (event) => {
  const { db } = warehouse;
  const first = await aWindow('draining');
  await silence(db, first);
  const second = await aLoad(db);
  expect(await claim(db, second)).toBeDefined();
  const before = await windowsOf(db);
  await happen[event](db, first, second);
  expect(await windowsOf(db)).toEqual(before);
});

it('a load does not take a page of another one for its own, whose commit had no reply', async () => {
  const { db } = warehouse;
  const first = await aWindow('draining');
  await silence(db, first);
  const second = await aLoad(db);
  await claim(db, second);
  await changeWindowsIn(db, { pages: 1, next_token: 'two' });
  const committedBy = (loadId: number) => {
    const at = { windowId, loadId, pages: 0, nextToken: null };
    return writeTransaction(db, (trx) => isMoved(trx, windowAfter(at, 'two', false)));
  };
  expect([await committedBy(first), await committedBy(second)]).toEqual([false, true]);
});

it.each([
  [
    'has a heartbeat',
    (db: Warehouse) => sqlIn(db)`update gmsi.processes set heartbeat_at = now() + interval '400 days'`,
  ],
  [
    'failed',
    (db: Warehouse) =>
      changeWindowsIn(db, { state: 'failed', finished_at: sql`now() + interval '400 days'` }),
  ],
] as const)('a window of a load that %s 400 days ahead, by a wrong clock, is free', async (_, change) => {
  const { db } = warehouse;
  await aWindow('draining');
  await change(db);
  const next = await aLoad(db);
  expect(await claim(db, next)).toBeDefined();
  expect(await windowsOf(db)).toMatchObject([{ state: 'draining', load_id: next }]);
});
