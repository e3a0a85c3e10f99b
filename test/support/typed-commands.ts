import type { CommanderError } from '@commander-js/extra-typings';
import { buildProgram, namedCommand, commandNames as ownNames } from '../../src/program.ts';

/** The names of all commands, also of those that a library adds. */
export const commandNames = [...ownNames, 'completion', 'complete'];

/** What Commander makes of a command. */
export interface TypedCommand {
  readonly name: string;
  readonly args: readonly unknown[];
  readonly options: Readonly<Record<string, unknown>>;
}

/**
 * Parses a command as a person would type it in a shell: `gmsi plan 'my job'`, or with npx and variables before it.
 * @throws CommanderError if the program has no such command, argument or option
 */
export async function parseTyped(typed: string): Promise<TypedCommand> {
  const words = shellWords(typed);
  const start = words.indexOf('gmsi');
  if (start < 0 || words.slice(0, start).some((word) => word !== 'npx' && !/^[A-Z_]+=/.test(word)))
    throw new Error(`not a command: ${typed}`);
  const args = words.slice(start + 1);
  let parsed: TypedCommand | undefined;
  const program = await buildProgram([namedCommand(args)], async () => {});
  for (const command of [program, ...program.commands]) command.configureOutput({ writeOut: () => {} });
  for (const command of program.commands)
    command.action((...given: unknown[]) => {
      parsed = { name: command.name(), args: given.slice(0, -2), options: command.opts() };
    });
  try {
    program.parse(args, { from: 'user' });
  } catch (error) {
    if ((error as CommanderError).code !== 'commander.helpDisplayed') throw error;
    parsed = { name: 'help', args: [], options: {} };
  }
  if (!parsed) throw new Error(`no command is run by: ${typed}`);
  return parsed;
}

/** Splits a line as a shell does, which knows nothing but quotes. @throws if the shell would do more than split it */
function shellWords(line: string): string[] {
  const words = [...line.matchAll(/(?:'[^']*'|"[^"\\$`]*"|\\'|[^\s'"\\$`;&|()<>*?]|<[a-z]+>)+/g)];
  const rest = words.reduceRight(
    (text, { 0: word, index }) => text.slice(0, index) + text.slice(index + word.length),
    line,
  );
  if (rest.trim() !== '') throw new Error(`a shell does not read this as words: ${line}`);
  return words.map(([word]) =>
    word.replaceAll(/'([^']*)'|"([^"]*)"|\\'/g, (all, one, two) => one ?? two ?? all[1]),
  );
}

/** Returns the suggested next command of a command's output. */
export function nextStepOf(output: string): string | undefined {
  return /^Next: (.*)$/m.exec(output)?.[1];
}
