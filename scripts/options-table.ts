import { buildProgram, commandNames } from '../src/program.ts';

/** Returns the table of all options in Markdown, made from the definitions of the commands. */
async function optionsTable(): Promise<string> {
  const program = await buildProgram(commandNames, async () => {});
  const rows = new Map<string, string[]>();
  for (const { name, options } of [program, ...program.commands].map((command) => ({
    name: command === program ? 'every command' : `\`${command.name()}\``,
    options: command.createHelp().visibleOptions(command),
  })))
    for (const option of options.filter(({ long }) => long !== '--help')) {
      const about = program.createHelp().optionDescription(option);
      const [flags, does] = [option.flags, about.replaceAll('<', '\\<')].map((text) =>
        text.replaceAll('|', '\\|'),
      );
      const row = `| \`${flags}\` | … | ${does} |`;
      rows.set(row, [...(rows.get(row) ?? []), name]);
    }
  const written = [...rows].map(([row, commands]) => row.replace(' … ', ` ${commands.join(', ')} `));
  return ['| option | of | does |', '|---|---|---|', ...written].join('\n');
}

/** Returns docs/reference.md with its table of options as it should be. */
export async function withOptionsTable(reference: string): Promise<string> {
  const table = await optionsTable();
  return reference.replace(/(?<=\n## Options\n\n)(?:\|.*\n)+/, () => `${table}\n`);
}
