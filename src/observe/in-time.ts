/** The result of `work`, or an error if it takes too long. The work itself goes on. */
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

/** The same work for all who ask while it goes on: if it takes longer than they wait, it does not pile up. */
export function shared<T>(work: () => Promise<T>): () => Promise<T> {
  let going: Promise<T> | undefined;
  return () => {
    going ??= work().finally(() => {
      going = undefined;
    });
    return going;
  };
}
