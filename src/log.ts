import type { Logger } from 'pino';

/** Made by `createLog`, or a child of it. */
export type Log = Logger;

/** How long a wait needs no explanation, in milliseconds. */
const patience = 3_000;

/** Does something, and calls `say` once if it takes longer than three seconds. */
export async function sayIfSlow<T>(say: () => void, work: () => Promise<T>): Promise<T> {
  const timer = setTimeout(say, patience);
  try {
    return await work();
  } finally {
    clearTimeout(timer);
  }
}

export function waitingFor(what: string, reason: Error | undefined): string {
  return `waiting for ${what}: ${reason ? reason.message : 'it has not answered yet'}`;
}
