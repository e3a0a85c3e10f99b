import type { Logger } from 'pino';

/** Made by `createLog`, or a child of it. */
export type Log = Logger;

/** Milliseconds that a wait may take without an explanation. */
const patience = 3_000;

/** Runs `work`, and calls `say` once if that takes longer than three seconds. */
export async function sayIfSlow<T>(say: () => void, work: () => Promise<T>): Promise<T> {
  const timer = setTimeout(say, patience);
  try {
    return await work();
  } finally {
    clearTimeout(timer);
  }
}
