#!/usr/bin/env node
import { setFlagsFromString } from 'node:v8';
import { Command, CommanderError, Option } from 'commander';
import { day, gathered, wholeNumber } from './commands/arguments.ts';
import type { GlobalOptions, Command as GmsiCommand } from './commands/run-command.ts';
import { ConfigError } from './errors.ts';
import { exitCodeOf, exitCodes, explain } from './exit.ts';
import { version } from './package.ts';
import { outputFailure, print, printError, surviveClosedOutput } from './terminal/print.ts';

// Pages are large and soon done with. Left to itself V8 lets its heap grow to several times what is in use before it
// collects them: a third more memory, for no time worth speaking of (docs/benchmarks.md).
setFlagsFromString('--heap-growing-percent=100');

surviveClosedOutput();
process.on('exit', () => {
  const cause = outputFailure();
  if (!cause) return;
  printError(`gmsi: The result cannot be written to standard output: ${cause.message}\n`);
  process.exitCode ||= exitCodes.incomplete;
});
// Prints an error that nobody has foreseen as every other error, not as Node.js would.
process.on('uncaughtException', (error) => {
  printError(explain(error, process.argv.includes('--verbose')));
  process.exit(exitCodes.incomplete);
});

const program = new Command('gmsi')
  .description('Loads the Global Macro Sentiment Indices (GMSI) headline feeds into PostgreSQL.')
  .version(version, '-V, --version', 'print the version')
  .helpOption('-h, --help', 'print help')
  .configureHelp({ showGlobalOptions: true, sortSubcommands: false })
  .option('--json', 'print the result as one JSON document')
  .option('--quiet', 'no progress, only warnings')
  .option('--verbose', 'log more, and show where an error came from')
  .configureOutput({ writeOut: print, writeErr: printError, outputError: () => {} })
  .exitOverride();

/** Loads a command and what every command needs once it is asked for: `--help` and `--version` need neither. */
function runs<Args extends unknown[]>(load: () => Promise<GmsiCommand<Args>>, { readable = false } = {}) {
  return async (...given: unknown[]) => {
    const args = given.slice(0, -1) as Args;
    const { runCommand } = await import('./commands/run-command.ts');
    process.exitCode = await runCommand(await load(), args, program.opts<GlobalOptions>(), readable);
  };
}

const jobs = ['<job...>', 'path of a job file, or its name in jobs/ without the ending'] as const;

program
  .command('plan')
  .description('say what a run would do, spending no request')
  .argument(...jobs)
  .option('--full-refresh', 'as if nothing were covered')
  .option('--retry-refused', 'as if nothing had been refused')
  .action(runs(async () => (await import('./commands/plan.ts')).planCommand));
program
  .command('backfill')
  .description("drain every day of the job's period that is not covered yet")
  .argument(...jobs)
  .option('--full-refresh', 'drain covered days, too')
  .option('--retry-refused', 'ask again for all windows that were refused, not only for a few')
  .option('--enqueue', 'only plan it, and leave it to gmsi work')
  .action(runs(async () => (await import('./commands/load.ts')).backfillCommand));
program
  .command('sync')
  .description('drain the settling days again and every missing day since, then read the live feed')
  .argument(...jobs)
  .action(runs(async () => (await import('./commands/load.ts')).syncCommand));
program
  .command('work')
  .description('run scheduled and queued work until told to stop; on any number of machines')
  .argument('[job...]', `${jobs[1]}; all in jobs/ that have a schedule if left out`)
  .option('--concurrency <number>', 'windows to work on at a time', wholeNumber({ from: 1, to: 100 }), 8)
  .option(
    '--metrics-port <number>',
    'port of /metrics, /healthz and /readyz; 0 for any (9464, or any)',
    wholeNumber({ to: 65_535 }),
  )
  .action(runs(async () => (await import('./commands/work.ts')).workCommand));
program
  .command('status')
  .description('show coverage, gaps, windows, quota and the last loads; spends no request')
  .argument('[job...]', jobs[1])
  .option('--watch', 'follow what the workers are at, until interrupted')
  .action(runs(async () => (await import('./commands/status.ts')).statusCommand));
program
  .command('check')
  .description('look for what is wrong with what is loaded; spends no request')
  .argument('[job...]', jobs[1])
  .option('--list', 'only show the checks there are, with their settings')
  .option('--only <check>', 'run this check; may be given several times', gathered, [])
  .option('--set <setting=number>', 'a setting for this run; may be given several times', gathered, [])
  .option('--checks <folder>', "checks of your own, besides the program's and those in jobs/checks")
  .option('--rows <number>', 'findings to show of a check (5; with --json 100)', wholeNumber())
  .option('--timeout <seconds>', 'give up a check that takes longer; 0 for never', wholeNumber(), 600)
  .action(runs(async () => (await import('./commands/check.ts')).checkCommand));
program
  .command('export')
  .description('write what is loaded into Parquet or CSV files, by country and month; spends no request')
  .argument('[job]', `${jobs[1]}; all headlines if left out`)
  .addOption(
    new Option('--format <format>', 'format of the files').choices(['parquet', 'csv']).default('parquet'),
  )
  .option('--from <day>', 'first day (UTC), such as 2025-01-01; the first there is if left out', day)
  .option('--to <day>', 'last day (UTC), itself included; the last there is if left out', day)
  .option('--as-of <moment>', 'headlines as they stood then, such as 2025-06-30T12:00:00Z')
  .option('--country <code...>', 'only these countries, where no job is given')
  .option('--topic <name...>', 'only these topics, where no job is given')
  .option('--out <folder>', 'folder to make (export/ and the name of the job or feed)')
  .option('--overwrite', 'replace an export that stands there')
  .option(
    '--defuse-formulas',
    'CSV only: put an apostrophe before texts that a spreadsheet would run as a formula; left as they are without it',
  )
  .action(runs(async () => (await import('./commands/export.ts')).exportCommand));
program
  .command('rollup')
  .description('show the hourly and daily rollups, or sum them up anew; spends no request')
  .option('--rebuild', 'sum them up from the headlines, and say what was not right')
  .option('--from <day>', 'first day (UTC) to rebuild; the first there is if left out', day)
  .option('--to <day>', 'last day (UTC) to rebuild, itself included', day)
  .action(runs(async () => (await import('./commands/rollup.ts')).rollupCommand));
program
  .command('replay')
  .description('read rejected records and extra fields again, spending no request')
  .argument('[job...]', `${jobs[1]}; all feeds if left out`)
  .option('--dry-run', 'only say what would change')
  .action(runs(async () => (await import('./commands/replay.ts')).replayCommand));
program
  .command('lookups')
  .description('refresh what the service lists: countries, topics, tickers … (5 requests)')
  .option('--search <words>', 'only ask the service which countries match (1 request); stores nothing')
  .option('--parameter <name>', 'the query parameter that takes these words', 'keywords')
  .action(runs(async () => (await import('./commands/lookups.ts')).lookupsCommand));
program
  .command('migrate')
  .description('bring the warehouse to the newest schema')
  .argument('[what]', '"status" only shows what is applied')
  .action(runs(async () => (await import('./commands/migrate.ts')).migrateCommand));
program
  .command('doctor')
  .description('check configuration, key, service, clock, database and privileges (1 request)')
  .option(
    '--probe',
    'learn what the service does not document, such as how it reads end_date (12 requests at most)',
  )
  .option('--job <job>', "probe a job's feed and series, with its settings")
  .option('--accept', 'take what the probe finds, where it contradicts what was learned before')
  .action(runs(async () => (await import('./commands/doctor.ts')).doctorCommand));
program
  .command('psql')
  .description('open psql on the warehouse in use')
  .option('-c, --command <sql>', 'run statements and leave; needs no psql')
  .option('--address', 'print the address, with its password, instead')
  .action(runs(async () => (await import('./commands/psql.ts')).psqlCommand));
program
  .command('sandbox')
  .description('run the service itself, emulated, for work without a key')
  .option('--host <address>', 'address to listen on; 0.0.0.0 lets other machines in', '127.0.0.1')
  .option('--port <number>', 'port to listen on', wholeNumber({ to: 65_535 }), 8425)
  .option('--seed <text>', 'what the made-up data grow from', 'gmsi')
  .option('--key <key...>', 'API keys to accept', ['sandbox-key'])
  .option('--unlimited', 'no rate limit and no quota')
  .addOption(
    new Option('--end-date <reading>', 'how end_date is read')
      .choices(['inclusive', 'exclusive'])
      .default('inclusive'),
  )
  .option('--history-limit <days>', 'refuse windows that begin earlier', wholeNumber())
  .option('--options <json>', 'any other option of the sandbox library, as JSON')
  .action(runs(async () => (await import('./commands/sandbox.ts')).sandboxCommand, { readable: true }));
program
  .command('demo')
  .description('run the whole pipeline on made-up data, in the embedded server')
  .option(
    '--remove',
    'remove the embedded server with all that was loaded into it; says what, and waits for --yes',
  )
  .option('--yes', 'with --remove: do it')
  .action(runs(async () => (await import('./commands/sandbox.ts')).demoCommand, { readable: true }));

try {
  await program.parseAsync();
} catch (error) {
  const isHelp = error instanceof CommanderError && /help|version/.test(error.code);
  const shown = error instanceof CommanderError ? misuse(error) : error;
  if (!isHelp) printError(explain(shown, process.argv.includes('--verbose')));
  process.exitCode = isHelp && error.exitCode === 0 ? exitCodes.done : exitCodeOf(shown);
}

/** What commander says, in the form of every other error. */
function misuse(error: CommanderError): ConfigError {
  const [, option, given, must] =
    /^error: option '(?:-\w, )?(--[\w-]+)[^']*' argument '(.*)' is invalid\. (.*)$/s.exec(error.message) ??
    [];
  if (must !== undefined) return new ConfigError(`${option} is "${given}".`, { hint: must, cause: error });
  const [what = '', suggestion] = error.message.replace(/^error: /, '').split('\n');
  const hint =
    suggestion?.replace(/^\((.*)\)$/, '$1') ??
    'gmsi --help lists the commands, gmsi <command> --help what each takes.';
  return new ConfigError(`${what.replace(/\.$/, '')}.`, { hint, cause: error });
}
