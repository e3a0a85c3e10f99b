#!/usr/bin/env node
import { setFlagsFromString } from 'node:v8';
import { Command, CommanderError, Option } from 'commander';
import { backfillCommand } from './commands/backfill.ts';
import { demoCommand } from './commands/demo.ts';
import { doctorCommand } from './commands/doctor.ts';
import { lookupsCommand } from './commands/lookups.ts';
import { migrateCommand } from './commands/migrate.ts';
import { planCommand } from './commands/plan.ts';
import { psqlCommand } from './commands/psql.ts';
import { replayCommand } from './commands/replay.ts';
import { sandboxCommand } from './commands/sandbox.ts';
import { statusCommand } from './commands/status.ts';
import { syncCommand } from './commands/sync.ts';
import type { Session } from './compose.ts';
import { readConfig } from './config.ts';
import { ConfigError } from './errors.ts';
import { exitCodeOf, exitCodes, explain } from './exit.ts';
import { stopOnSignals } from './interrupt.ts';
import { createLog } from './log.ts';
import { StatusLine } from './terminal/status-line.ts';
import { version } from './version.ts';

// Pages are large and soon done with. Left to itself V8 lets its heap grow to several times what is in use before it
// collects them: a third more memory, for no time worth speaking of (docs/benchmarks.md).
setFlagsFromString('--heap-growing-percent=100');

/** A command: does its work, prints its result, answers with the exit code. */
export type Run<Args extends unknown[]> = (session: Session, ...args: Args) => Promise<number>;

interface GlobalOptions {
  readonly json?: boolean;
  readonly quiet?: boolean;
  readonly verbose?: boolean;
}

const program = new Command('gmsi')
  .description('Loads the Global Macro Sentiment Indices (GMSI) headline feeds into PostgreSQL.')
  .version(version, '-V, --version', 'print the version')
  .helpOption('-h, --help', 'print help')
  .configureHelp({ showGlobalOptions: true, sortSubcommands: false })
  .option('--json', 'print the result as one JSON document')
  .option('--quiet', 'no progress, only warnings')
  .option('--verbose', 'log more, and show where an error came from')
  .configureOutput({ outputError: () => {} })
  .exitOverride();

/** Gives a command its session and takes its exit code. */
function runs<Args extends unknown[]>(run: Run<Args>, { readable = false } = {}) {
  return async (...given: unknown[]) => {
    const args = given.slice(0, -1) as Args;
    const { json = false, quiet = false, verbose = false } = program.opts<GlobalOptions>();
    const config = readConfig();
    const screen = process.stderr.isTTY ? new StatusLine(process.stderr) : undefined;
    process.once('exit', () => screen?.clear());
    const level = verbose ? 'debug' : quiet && config.logLevel === 'info' ? 'warn' : config.logLevel;
    const log = createLog({
      level,
      readable: readable || screen !== undefined,
      ...(screen && { to: screen }),
    });
    const session: Session = {
      ...{ config, log, json, clock: () => new Date(), stop: stopOnSignals(screen ?? process.stderr) },
      progress: quiet ? 'none' : (screen ?? 'lines'),
    };
    process.exitCode = await run(session, ...args);
  };
}

const jobs = ['<job...>', 'path of a job file, or its name in jobs/ without the ending'] as const;

program
  .command('plan')
  .description('say what a run would do, spending no request')
  .argument(...jobs)
  .option('--full-refresh', 'as if nothing were covered')
  .option('--retry-refused', 'as if nothing had been refused')
  .action(runs(planCommand));
program
  .command('backfill')
  .description("drain every day of the job's period that is not covered yet")
  .argument(...jobs)
  .option('--full-refresh', 'drain covered days, too')
  .option('--retry-refused', 'ask again for windows that the service refused as too old')
  .action(runs(backfillCommand));
program
  .command('sync')
  .description('drain the settling days again and every missing day since, then read the live feed')
  .argument(...jobs)
  .action(runs(syncCommand));
program
  .command('status')
  .description('show coverage, gaps, windows, quota and the last loads; spends no request')
  .argument('[job...]', jobs[1])
  .action(runs(statusCommand));
program
  .command('replay')
  .description('read rejected records and extra fields again, spending no request')
  .argument('[job...]', `${jobs[1]}; all feeds if left out`)
  .option('--dry-run', 'only say what would change')
  .action(runs(replayCommand));
program
  .command('lookups')
  .description('refresh what the service lists: countries, topics, tickers … (5 requests)')
  .option('--search <words>', 'only ask the service which countries match (1 request); stores nothing')
  .option('--parameter <name>', 'the query parameter that takes these words', 'keywords')
  .action(runs(lookupsCommand));
program
  .command('migrate')
  .description('bring the warehouse to the newest schema')
  .argument('[what]', '"status" only shows what is applied')
  .action(runs(migrateCommand));
program
  .command('doctor')
  .description('check configuration, key, service, clock, database and privileges (1 request)')
  .option(
    '--probe',
    'learn what the service does not document, such as how it reads end_date (12 requests at most)',
  )
  .option('--job <job>', "probe a job's feed and series, with its settings")
  .option('--accept', 'take what the probe finds, where it contradicts what was learned before')
  .action(runs(doctorCommand));
program
  .command('psql')
  .description('open psql on the warehouse in use')
  .option('-c, --command <sql>', 'run one statement and leave')
  .option('--address', 'print the address, with its password, instead')
  .action(runs(psqlCommand));
program
  .command('sandbox')
  .description('run the service itself, emulated, for work without a key')
  .option('--port <number>', 'port on 127.0.0.1', '8425')
  .option('--seed <text>', 'what the made-up data grow from', 'gmsi')
  .option('--key <key...>', 'API keys to accept', ['sandbox-key'])
  .option('--unlimited', 'no rate limit and no quota')
  .addOption(
    new Option('--end-date <reading>', 'how end_date is read')
      .choices(['inclusive', 'exclusive'])
      .default('inclusive'),
  )
  .option('--look-back <days>', 'refuse windows that begin earlier')
  .option('--options <json>', 'any other option of the sandbox library, as JSON')
  .action(runs(sandboxCommand, { readable: true }));
program
  .command('demo')
  .description('run the whole pipeline on made-up data: what npm start does')
  .action(runs(demoCommand, { readable: true }));

try {
  await program.parseAsync();
} catch (error) {
  const isHelp = error instanceof CommanderError && /help|version/.test(error.code);
  const shown = error instanceof CommanderError ? misuse(error) : error;
  if (!isHelp) process.stderr.write(explain(shown, process.argv.includes('--verbose')));
  process.exitCode = isHelp && error.exitCode === 0 ? exitCodes.done : exitCodeOf(shown);
}

/** What commander says, in the form of every other error. */
function misuse(error: CommanderError): ConfigError {
  const [what = '', suggestion] = error.message.replace(/^error: /, '').split('\n');
  const hint =
    suggestion?.replace(/^\((.*)\)$/, '$1') ??
    'gmsi --help lists the commands, gmsi <command> --help what each takes.';
  return new ConfigError(`${what.replace(/\.$/, '')}.`, { hint, cause: error });
}
