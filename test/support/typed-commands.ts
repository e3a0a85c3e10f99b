import type { Command, CommanderError } from 'commander';

// Another one than the program that tests run, because its actions are replaced.
const { program }: { program: Command } = await import(
  /* @vite-ignore */ new URL('../../src/program.ts?parsed', import.meta.url).href
);

/** What Commander makes of a command. */
export interface TypedCommand {
  readonly name: string;
  readonly args: readonly unknown[];
  readonly options: Readonly<Record<string, unknown>>;
}

let parsed: TypedCommand | undefined;
for (const command of [program, ...program.commands]) command.configureOutput({ writeOut: () => {} });
for (const command of program.commands)
  command.action((...given: unknown[]) => {
    parsed = { name: command.name(), args: given.slice(0, -2), options: command.opts() };
  });

/** The names of all commands. */
export const commandNames = program.commands.map((command) => command.name());

/**
 * Parses a command as a person would type it in a shell: `gmsi plan 'my job'`, or with npx and variables before it.
 * @throws CommanderError if the program has no such command, argument or option
 */
export function parseTyped(typed: string): TypedCommand {
  const words = shellWords(typed);
  const start = words.indexOf('gmsi');
  if (start < 0 || words.slice(0, start).some((word) => word !== 'npx' && !/^[A-Z_]+=/.test(word)))
    throw new Error(`not a command: ${typed}`);
  parsed = undefined;
  // A worker listens before it runs.
  const before = new Set(process.rawListeners('SIGHUP'));
  try {
    program.parse(['node', ...words.slice(start)]);
  } catch (error) {
    if ((error as CommanderError).code !== 'commander.helpDisplayed') throw error;
    parsed = { name: 'help', args: [], options: {} };
  } finally {
    for (const listener of process.rawListeners('SIGHUP'))
      if (!before.has(listener)) process.off('SIGHUP', listener as () => void);
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
