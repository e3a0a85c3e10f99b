import { setTimeout } from 'node:timers/promises';

/** Returns the result of `work`, or throws if it takes too long; the work itself continues. */
export function inTime<T>(work: Promise<T>, milliseconds: number): Promise<T> {
  const late = async () => {
    // Does not keep the process alive.
    await setTimeout(milliseconds, undefined, { ref: false });
    throw new Error(`no answer within ${milliseconds} ms`);
  };
  return Promise.race([work, late()]);
}

/**
 * Returns a function that starts the work unless it is still running. Calls share the running work, so that slow work does
 * not pile up.
 */
export function shared<T>(work: () => Promise<T>): () => Promise<T> {
  let going: Promise<T> | undefined;
  return () => {
    going ??= work().finally(() => {
      going = undefined;
    });
    return going;
  };
}
