/** Returns the result of `work`, or throws if it takes too long; the work itself continues. */
export async function inTime<T>(work: Promise<T>, milliseconds: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const tooLate = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${milliseconds} ms`)), milliseconds);
  });
  try {
    return await Promise.race([work, tooLate]);
  } finally {
    clearTimeout(timer);
  }
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
