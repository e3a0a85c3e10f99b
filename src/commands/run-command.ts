import type { Session } from '../compose.ts';
import { readConfig } from '../config/environment.ts';
import { ConfigError } from '../errors.ts';
import { exitCodes } from '../exit.ts';
import { isHidden, shortestHidden } from '../service/redact.ts';
import { createLog } from '../terminal/log.ts';
import type { StatusLine } from '../terminal/status-line.ts';
import { namedDatabaseError } from '../warehouse/errors.ts';
import type { GmsiCommand } from './command.ts';

export interface GlobalOptions {
  readonly json?: boolean;
  readonly quiet?: boolean;
  readonly verbose?: boolean;
}

/**
 * Runs a command with its session: environment, log, screen and stop signals.
 * @param screen the terminal to draw progress on, if standard error is one
 * @returns the exit code
 */
export async function runCommand(
  { run, schemaUse = 'reads', isReadable = false }: GmsiCommand,
  args: readonly unknown[],
  { json = false, quiet = false, verbose = false }: GlobalOptions,
  { screen, stop }: { readonly screen?: StatusLine | undefined; readonly stop: AbortSignal },
): Promise<number> {
  // Commander passes the options last.
  const options = args.at(-1) as { readonly dryRun?: boolean; readonly from?: string; readonly to?: string };
  if (options.from !== undefined && options.to !== undefined && options.from > options.to)
    throw new ConfigError(`--from ${options.from} is after --to ${options.to}.`, {
      hint: 'Swap them; both days are included.',
    });
  const config = readConfig();
  const level = verbose ? 'debug' : quiet && config.logLevel === 'info' ? 'warn' : config.logLevel;
  const log = createLog({
    level,
    readable: isReadable || screen !== undefined,
    ...(screen && { to: screen }),
  });
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
    stop,
    progress: quiet ? 'none' : (screen ?? 'lines'),
    schemaUse: options.dryRun ? 'reads' : schemaUse,
  };
  const code = await run(session, ...args).catch((error: unknown) => {
    throw namedDatabaseError(error);
  });
  return code ?? exitCodes.done;
}
