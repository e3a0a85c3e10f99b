/** Yields the same items, but fetches the next one while the caller uses the current one. */
export async function* oneAhead<T>(items: AsyncGenerator<T>): AsyncGenerator<T> {
  const begin = () => {
    // Once the caller has sent what it makes of the current one: PostgreSQL would wait while the next is parsed.
    const next = new Promise(setImmediate).then(() => items.next());
    // Else a failure while the caller uses the item before would be an unhandled rejection. `await next` still throws it.
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
    // Waits for the fetch under way, so that nothing is fetched any more once the caller has the error.
    await items.return(undefined);
  }
}
