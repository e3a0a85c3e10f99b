import type { SchemaUse, Session } from '../compose.ts';
import { readConfig } from '../config/environment.ts';
import { stopOnSignals } from '../exit.ts';
import { isHidden, shortestHidden } from '../service/redact.ts';
import { createLog } from '../terminal/log.ts';
import { errorOutput } from '../terminal/print.ts';
import { StatusLine } from '../terminal/status-line.ts';
import { namedDatabaseError } from '../warehouse/errors.ts';

/** Does a command's work, prints the result and returns the exit code. */
export type Command<Args extends unknown[]> = (session: Session, ...args: Args) => Promise<number>;

export interface GlobalOptions {
  readonly json?: boolean;
  readonly quiet?: boolean;
  readonly verbose?: boolean;
}

/** What commands do to the schema: all others only read it, as these do with `--dry-run`. */
const schemaUses: Readonly<Record<string, SchemaUse>> = {
  init: 'upgrades',
  demo: 'upgrades',
  backfill: 'upgrades',
  sync: 'upgrades',
  import: 'upgrades',
  work: 'upgrades',
  repair: 'upgrades',
  migrate: 'upgrades',
  // People run these before the first load.
  doctor: 'makes embedded',
  lookups: 'makes embedded',
};

/**
 * Runs a command with its session: environment, log, screen and stop signals.
 * @param load imports the command's code. That can take seconds, so it listens for stop signals before
 * @param name as typed
 * @param readable log text for a person, even if standard error is not a terminal
 */
export async function runCommand<Args extends unknown[]>(
  load: () => Promise<Command<Args>>,
  args: Args,
  { json = false, quiet = false, verbose = false }: GlobalOptions,
  { name, readable = false }: { readonly name: string; readonly readable?: boolean },
): Promise<number> {
  const config = readConfig();
  const screen = errorOutput.isTTY ? new StatusLine(errorOutput) : undefined;
  process.once('exit', () => screen?.clear());
  const level = verbose ? 'debug' : quiet && config.logLevel === 'info' ? 'warn' : config.logLevel;
  const log = createLog({ level, readable: readable || screen !== undefined, ...(screen && { to: screen }) });
  for (const warning of config.warnings) log.warn(warning);
  if (config.apiKey && !isHidden(config.apiKey))
    log.warn(
      `the API key is shorter than ${shortestHidden} characters, so it cannot be redacted from messages`,
    );
  const session: Session = {
    config,
    log,
    json,
    clock: () => new Date(),
    stop: stopOnSignals(screen ?? errorOutput),
    progress: quiet ? 'none' : (screen ?? 'lines'),
    schemaUse: isDryRun(args) ? 'reads' : (schemaUses[name] ?? 'reads'),
  };
  const command = await load();
  return await command(session, ...args).catch((error: unknown) => {
    throw namedDatabaseError(error);
  });
}

/** Commander passes the options last. */
function isDryRun(args: readonly unknown[]): boolean {
  return (args.at(-1) as { readonly dryRun?: boolean } | undefined)?.dryRun === true;
}
