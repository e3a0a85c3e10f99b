/**
 * Bytes of a body, as received or unpacked, beyond which it is a large one. Of these a process has only one at a time
 * in memory, from here until its records are committed: eight windows that are all sent the largest page at once would
 * take more memory than a small machine has.
 */
export const largeFrom = 2 * 1024 * 1024;

let last: Promise<void> = Promise.resolve();

/**
 * Waits until no other large body is in memory.
 * @returns what the caller must call once its own is gone; calling it again does nothing
 */
export async function enterLarge(signal: AbortSignal): Promise<() => void> {
  signal.throwIfAborted();
  const before = last;
  let leave!: () => void;
  const mine = new Promise<void>((resolve) => {
    leave = resolve;
  });
  last = before.then(() => mine);
  await new Promise<void>((resolve, reject) => {
    const onAbort = () => {
      leave();
      reject(signal.reason);
    };
    signal.addEventListener('abort', onAbort, { once: true });
    before.then(() => {
      signal.removeEventListener('abort', onAbort);
      resolve();
    });
  });
  return leave;
}
