#!/usr/bin/env node
import { setFlagsFromString } from 'node:v8';
import { CommanderError } from '@commander-js/extra-typings';
import { ConfigError, namedSystemError } from './errors.ts';
import { asJson, exitCodeOf, exitCodes, explain, stopOnSignals } from './exit.ts';
import { buildProgram, namedCommand } from './program.ts';
import {
  errorOutput,
  outputFailure,
  printError,
  printJson,
  snakeCased,
  surviveClosedOutput,
} from './terminal/print.ts';
import { StatusLine } from './terminal/status-line.ts';
import { asTyped } from './terminal/table.ts';

// Pages are large and short-lived. By default V8 lets its heap grow to several times the memory in use before it collects
// garbage: 250 MB instead of 185. With 100%, collecting garbage took a quarter of a page's CPU, for 7 to 14 MB less.
setFlagsFromString('--heap-growing-percent=130');
// From Node.js 24 on, V8 lets the young generation grow twice as far. The bytes of pages and files lie outside its heap and are
// freed with the objects that refer to them: an import takes 300 instead of 170 MB (docs/benchmarks.md).
if (Number.parseInt(process.versions.node, 10) >= 24) setFlagsFromString('--semi-space-growth-factor=1');

const isVerbose = process.argv.some((argument) => argument === '--verbose' || argument === '-v');

// Stacks then name places in the sources instead of dist/.
if (isVerbose) process.setSourceMapsEnabled(true);

surviveClosedOutput();
process.on('exit', () => {
  const cause = outputFailure();
  if (!cause) return;
  printError(`gmsi: The result cannot be written to standard output: ${cause.message}\n`);
  process.exitCode ||= exitCodes.incomplete;
});
// Without this, Node.js would print an unexpected error in its own format.
process.on('uncaughtException', (error) => {
  const shown = namedSystemError(error);
  printError(explain(shown, isVerbose));
  process.exit(exitCodeOf(shown));
});

try {
  // Before the command's code is imported, which can take seconds.
  const screen = errorOutput.isTTY ? new StatusLine(errorOutput) : undefined;
  process.once('exit', () => screen?.clear());
  const stop = stopOnSignals(screen ?? errorOutput);
  let exitCode: number = exitCodes.done;
  const program = await buildProgram(
    [namedCommand(process.argv.slice(2))],
    async (command, args, options) => {
      const { runCommand } = await import('./commands/run-command.ts');
      exitCode = await runCommand(command, args, options, { screen, stop });
    },
  );
  await program.parseAsync();
  process.exitCode = exitCode;
} catch (error) {
  const isHelp = error instanceof CommanderError && /help|version/.test(error.code);
  const shown = error instanceof CommanderError ? misuse(error) : namedSystemError(error);
  process.exitCode = isHelp && error.exitCode === 0 ? exitCodes.done : exitCodeOf(shown);
  if (!isHelp) {
    printError(explain(shown, isVerbose));
    if (process.argv.includes('--json')) printJson(snakeCased({ error: asJson(shown, process.exitCode) }));
  }
}

/** Converts Commander's error to the form of every other error. */
function misuse(error: CommanderError): ConfigError {
  const hint = `${asTyped('--help')} lists the commands, and each command's --help its options.`;
  return new ConfigError(error.message.replace(/^error: /, ''), { hint, cause: error });
}
