import { setMaxListeners } from 'node:events';
import { exitCodes } from './exit.ts';

/** Why a command was aborted: somebody told it to stop. */
export class StoppedBySignal extends Error {
  override readonly name = 'AbortError';
  readonly signal: NodeJS.Signals;

  constructor(signal: NodeJS.Signals) {
    super(`told to stop by ${signal}`);
    this.signal = signal;
  }
}

/**
 * The first SIGINT or SIGTERM asks the command to finish what is in hand; the second ends the process at once, which
 * costs at most the pages in hand.
 * @param screen where a person is told so
 */
export function stopOnSignals(screen: { write(text: string): void }): AbortSignal {
  const controller = new AbortController();
  setMaxListeners(0, controller.signal);
  const onSignal = (signal: NodeJS.Signals) => {
    if (controller.signal.aborted) process.exit(exitCodes.interrupted);
    screen.write('finishing what is in hand; once more stops at once\n');
    controller.abort(new StoppedBySignal(signal));
  };
  process.on('SIGINT', onSignal);
  process.on('SIGTERM', onSignal);
  return controller.signal;
}
