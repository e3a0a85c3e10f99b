import type { Command, OptionValues } from '@commander-js/extra-typings';
import type { SchemaUse, Session } from '../compose.ts';
import { day, gathered } from '../terminal/arguments.ts';
import { command } from '../terminal/style.ts';
import { asTyped } from '../terminal/table.ts';

export type { Command };

/** A command: its arguments and options, and what it does. */
export interface GmsiCommand extends Definition<Define> {
  /** Does the work, prints the result and returns the exit code, if it is not 0. */
  run(session: Session, ...args: unknown[]): Promise<number | undefined>;
}

type Define = (empty: Command) => { readonly processedArgs: unknown[]; opts(): OptionValues };

interface Definition<Of extends Define> {
  readonly define: Of;
  /** `reads` unless it is set. With the option `--dry-run`, every command only reads the schema. */
  readonly schemaUse?: SchemaUse;
  /** Log text for a person, even if standard error is not a terminal. */
  readonly isReadable?: boolean;
}

/** The options that a definition gives a command. */
export type OptionsOf<Of extends Define> = {
  [Name in keyof ReturnType<ReturnType<Of>['opts']>]: Flag<ReturnType<ReturnType<Of>['opts']>[Name]>;
};
/** Commander reads a flag as true or not at all. */
type Flag<Value> = [Value] extends [true | undefined] ? boolean : Value;

/** Joins the definition of a command with what it does with its arguments and options. */
export function gmsiCommand<Of extends Define>(
  definition: Definition<Of>,
  run: (
    session: Session,
    ...args: [...ReturnType<Of>['processedArgs'], OptionsOf<Of>]
  ) => Promise<number | undefined>,
) {
  return { ...definition, run };
}

/** Returns the examples below a help, as the program was started, so that they can be copied. */
export function examples(...lines: readonly string[]): string {
  const shown = lines.map((line) => {
    const [typed = '', ...about] = line.replace('gmsi ', asTyped('')).split(/(?= {4})/);
    return `  ${command(typed)}${about.join('')}\n`;
  });
  return `\nExamples:\n${shown.join('')}`;
}

/** What the argument `[job...]` takes. */
export const aJob = 'path of a job file, or its name in jobs/ without .yaml';

/** Adds what selects jobs to plan or to load, or a part of them. */
export function withJobs(command: Command) {
  return withPart(command).argument('[job...]', aJob).option('--all', 'every job in jobs/');
}

/** Adds the options that limit a command to a part of its jobs. */
export function withPart<Args extends unknown[], Options extends OptionValues>(
  command: Command<Args, Options>,
) {
  return command
    .option('--from <day>', 'only days (UTC) from this one on, such as 2025-01-01', day)
    .option('--to <day>', 'only days (UTC) up to and including this one', day)
    .option('--country <code>', 'only this country of the job; may be repeated', gathered)
    .option('--topic <name>', 'only this topic, or topics such as "Inflation-*"; may be repeated', gathered)
    .option('--ticker <code>', 'only this ticker; may be repeated', gathered);
}
