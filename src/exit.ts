import { setMaxListeners } from 'node:events';
import { inspect } from 'node:util';
import { type ErrorKind, GmsiError, kindOf } from './errors.ts';
import { styled } from './terminal/style.ts';
import { sayingAsTyped } from './terminal/table.ts';
import type { LoadOutcome } from './warehouse/database.ts';

/** A user or a supervisor stopped the command. */
export class StoppedBySignal extends Error {
  override readonly name = 'AbortError';
  readonly signal: NodeJS.Signals;

  constructor(signal: NodeJS.Signals) {
    super(`stopped by ${signal}`);
    this.signal = signal;
  }
}

/**
 * Aborts at the first SIGINT or SIGTERM, so that the command can finish the pages in flight. The second signal ends the process
 * at once, which loses at most these pages.
 */
export function stopOnSignals(screen: { write(text: string): void }): AbortSignal {
  const controller = new AbortController();
  setMaxListeners(0, controller.signal);
  const onSignal = (signal: NodeJS.Signals) => {
    if (controller.signal.aborted) {
      screen.write('Stopped. A load continues after its last committed page when you run it again.\n');
      process.exit(exitCodes.interrupted);
    }
    screen.write('Stopping. Press Ctrl-C again to stop at once.\n');
    controller.abort(new StoppedBySignal(signal));
  };
  process.on('SIGINT', onSignal);
  process.on('SIGTERM', onSignal);
  return controller.signal;
}

export const exitCodes = { done: 0, incomplete: 1, doNotRetry: 2, budget: 75, interrupted: 130 } as const;

const byOutcome: Record<LoadOutcome, number> = {
  done: exitCodes.done,
  incomplete: exitCodes.incomplete,
  failed: exitCodes.doNotRetry,
  budget: exitCodes.budget,
  interrupted: exitCodes.interrupted,
};

const byKind: Record<ErrorKind, number> = {
  retryable: exitCodes.incomplete,
  skippable: exitCodes.incomplete,
  budget: exitCodes.budget,
  fatal: exitCodes.doNotRetry,
  warehouse: exitCodes.incomplete,
  job: exitCodes.incomplete,
};

export function exitCodeOfOutcome(outcome: LoadOutcome): number {
  return byOutcome[outcome];
}

export function exitCodeOf(error: unknown): number {
  if (error instanceof Error && error.name === 'AbortError') return exitCodes.interrupted;
  const kind = kindOf(error);
  return kind ? byKind[kind] : exitCodes.incomplete;
}

/** Returns the code for several jobs in one call: the one that needs a person most. */
export function worst(codes: readonly number[]): number {
  const { interrupted, doNotRetry, incomplete, budget, done } = exitCodes;
  return [interrupted, doNotRetry, incomplete, budget].find((code) => codes.includes(code)) ?? done;
}

/** Returns one line that says what is wrong and one that says what to do; with `verbose` also the stack. */
export function explain(error: unknown, verbose: boolean): string {
  if (error instanceof Error && error.name === 'AbortError' && !verbose) return 'gmsi: interrupted\n';
  const message = error instanceof Error ? error.message : String(error);
  const hint =
    error instanceof GmsiError ? error.hint : 'This is a bug in gmsi; --verbose shows where it happened.';
  const lines = [
    `${styled('red', 'gmsi:')} ${indented(sayingAsTyped(message))}`,
    ...(hint ? [`  → ${indented(sayingAsTyped(hint))}`] : []),
    ...(verbose ? [indented(inspect(error))] : []),
  ];
  return `${lines.join('\n')}\n`;
}

/** Returns the same for a program: what is wrong, what to do (`null` if nothing is known), and the exit code. */
export function asJson(error: unknown, exitCode: number) {
  const message = error instanceof Error ? error.message : String(error);
  const hint = (error instanceof GmsiError && error.hint) || null;
  return { message, hint, exitCode };
}

/** Indents further lines, so that a message from the service or the database cannot look like one of ours. */
function indented(text: string): string {
  return text.replace(/[\n\v\f\r\u0085\u2028\u2029]+/g, '\n  ');
}
