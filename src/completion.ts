import { readdirSync } from 'node:fs';
import tab from '@bomb.sh/tab/commander';
import type { Command } from '@commander-js/extra-typings';
import { examples } from './commands/command.ts';
import { changeConsole } from './terminal/print.ts';

/** Adds `gmsi completion`, with whose script shells complete commands, options and job names. */
export function addCompletion(program: Command): void {
  const completions = tab(program as unknown as Parameters<typeof tab>[0], {
    completionCommandName: 'completion',
  });
  program.commands
    .find((command) => command.name() === 'completion')!
    // The library's script for bash declares constants, so that sourcing it twice would print errors.
    .hook('preAction', () => changeConsole((script) => script.replaceAll(/^readonly (?=ShellComp)/gm, '')))
    .description('print a completion script for bash, zsh, fish or powershell')
    .addHelpText(
      'after',
      examples(
        'source <(gmsi completion bash)    in ~/.bashrc',
        'gmsi completion fish > ~/.config/fish/completions/gmsi.fish',
      ),
    );
  for (const command of completions.commands.values()) {
    if (!command.arguments.has('job')) continue;
    const names = (complete: (name: string, description: string) => void) => {
      for (const name of jobNames()) complete(name, '');
    };
    command.argument('job', names, true);
  }
}

function jobNames(): string[] {
  try {
    return readdirSync('jobs').flatMap((file) => /^(.*)\.ya?ml$/.exec(file)?.[1] ?? []);
  } catch {
    return [];
  }
}
