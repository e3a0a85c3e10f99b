/** The same items; the next one is made while one is in use. */
export async function* oneAhead<T>(items: AsyncGenerator<T>): AsyncGenerator<T> {
  const begin = () => {
    const next = items.next();
    // If it fails while the item before is in use, the error is thrown later, when this item is asked for.
    next.catch(() => {});
    return next;
  };
  let next = begin();
  try {
    while (true) {
      const { value, done } = await next;
      if (done) return;
      next = begin();
      yield value;
    }
  } finally {
    await items.return(undefined);
  }
}
