import { setMaxListeners } from 'node:events';
import { exitCodes } from './exit.ts';

/**
 * The first SIGINT or SIGTERM asks the command to finish what is in hand; the second ends the process at once, which
 * costs at most the pages in hand.
 * @param screen where a person is told so
 */
export function stopOnSignals(screen: NodeJS.WritableStream): AbortSignal {
  const controller = new AbortController();
  setMaxListeners(0, controller.signal);
  const onSignal = () => {
    if (controller.signal.aborted) process.exit(exitCodes.interrupted);
    screen.write('finishing what is in hand; once more stops at once\n');
    controller.abort();
  };
  process.on('SIGINT', onSignal);
  process.on('SIGTERM', onSignal);
  return controller.signal;
}
