/** The result of `work`, or an error if it takes too long. The work itself continues. */
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

/** Calls share the work that is running, so that slow work does not pile up. */
export function shared<T>(work: () => Promise<T>): () => Promise<T> {
  let going: Promise<T> | undefined;
  return () => {
    going ??= work().finally(() => {
      going = undefined;
    });
    return going;
  };
}
