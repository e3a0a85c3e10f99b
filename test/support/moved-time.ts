import { childEnvironment } from '../../src/warehouse/embedded/account.ts';

const { LD_PRELOAD, FAKETIME, FAKETIME_DONT_FAKE_MONOTONIC } = process.env;

/** True if `faketime` gives the tests another day. PostgreSQL starts no timers under it, so its time limits do not work. */
export const isMoved = FAKETIME !== undefined;

/** What a process needs to have the time that `faketime` gives the tests, if it does. */
export const movedTime: Readonly<Record<string, string | undefined>> = isMoved
  ? { LD_PRELOAD, FAKETIME, FAKETIME_DONT_FAKE_MONOTONIC }
  : {};

// Embedded servers, which the program gives almost no environment.
Object.assign(childEnvironment, movedTime);
