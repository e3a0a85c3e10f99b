import { Command, Option } from 'commander';
import type { GlobalOptions, Command as GmsiCommand } from './commands/run-command.ts';
import { addCompletion } from './completion.ts';
import { inPackage, version } from './package.ts';
import { day, gathered, wholeNumber } from './terminal/arguments.ts';
import { print, printError } from './terminal/print.ts';

/** The exit code of the command, once `program` has run it; 0 for `--help`. */
export const ended = { exitCode: 0 };

/** The command line: name, arguments and help of each command. The command's code is loaded when it is run. */
export const program = new Command('gmsi')
  .description('Loads the Global Macro Sentiment Indices (GMSI) headline feeds into PostgreSQL.')
  .version(version, '-V, --version', 'print the version')
  .helpOption('-h, --help', 'print help')
  .configureHelp({ showGlobalOptions: true, sortSubcommands: false })
  .option('--json', 'print the result as one JSON document')
  .option('--quiet', 'no progress, only warnings')
  .option('--verbose', 'log more, and show where an error came from')
  .addHelpText(
    'after',
    `
Examples:
  gmsi demo                           all of it on made-up data; no key needed
  gmsi init                           make .env and a first job by answering questions
  gmsi plan g7-inflation              what a backfill of jobs/g7-inflation.yaml would take
  gmsi backfill g7-inflation          load it; run it again to continue
  gmsi sync g7-inflation --quiet      what is new, for cron
  gmsi psql -c "select count(*) from gmsi.headlines"

Exit codes:
  0    all that was asked for is done
  1    some windows failed; a rerun takes them up again
  2    do not retry: a job file, argument, key or address is wrong
  75   the month's requests are used up; a rerun continues from there
  130  interrupted

Documentation: ${inPackage('docs')}
`,
  )
  .configureOutput({ writeOut: print, writeErr: printError, outputError: () => {} })
  .exitOverride();

/** The text below the help of a command. */
function examples(...lines: readonly string[]): string {
  return `\nExamples:\n${lines.map((line) => `  ${line}`).join('\n')}\n`;
}

/** An option that takes one of these values. */
function oneOf(flags: string, description: string, values: readonly string[]): Option {
  return new Option(flags, description).choices(values);
}

/** Loads a command, and what every command needs, only when it is run: `--help` and `--version` need neither. */
function runs<Args extends unknown[]>(load: () => Promise<GmsiCommand<Args>>, { readable = false } = {}) {
  return async (...given: unknown[]) => {
    const args = given.slice(0, -1) as Args;
    const { runCommand } = await import('./commands/run-command.ts');
    ended.exitCode = await runCommand(await load(), args, program.opts<GlobalOptions>(), readable);
  };
}

const acceptRetractions = new Option(
  '--accept-retractions',
  'mark rows that the service no longer returns as retracted even if they are most of a window',
);
const jobs = ['<job...>', 'path of a job file, or its name in jobs/ without the ending'] as const;

program.commandsGroup('Begin:');
program
  .command('init')
  .description('make .env and a first job by answering questions (2 requests, if you have a key)')
  .addHelpText('after', examples('gmsi init'))
  .action(runs(async () => (await import('./commands/init.ts')).initCommand));
program
  .command('demo')
  .description('run the whole pipeline on made-up data, in the embedded server')
  .option(
    '--remove',
    'remove the embedded server with all that was loaded into it; says what, and waits for --yes',
  )
  .option('--yes', 'with --remove: do it')
  .option('--serve', 'then show it as a web page, as gmsi serve does')
  .addHelpText('after', examples('gmsi demo', 'gmsi demo --serve', 'gmsi demo --remove --yes'))
  .action(runs(async () => (await import('./commands/sandbox.ts')).demoCommand, { readable: true }));
program
  .command('doctor')
  .description('check configuration, key, service, clock, database and privileges (1 request)')
  .option(
    '--probe',
    'learn what the service does not document, such as how it reads end_date (12 requests at most)',
  )
  .option('--job <job>', "probe a job's feed and series, with its settings")
  .option('--accept', 'accept what the probe finds, even if it contradicts what was learned before')
  .addHelpText('after', examples('gmsi doctor', 'gmsi doctor --probe --job g7-inflation'))
  .action(runs(async () => (await import('./commands/doctor/doctor.ts')).doctorCommand));
program
  .command('sandbox')
  .description('run the service itself, emulated, for work without a key')
  .option('--host <address>', 'address to listen on; 0.0.0.0 lets other machines in', '127.0.0.1')
  .option('--port <number>', 'port to listen on', wholeNumber({ to: 65_535 }), 8425)
  .option('--seed <text>', 'seed of the made-up data', 'gmsi')
  .option('--key <key...>', 'API keys to accept', ['sandbox-key'])
  .option('--unlimited', 'no rate limit and no quota')
  .addOption(
    oneOf('--end-date <reading>', 'how end_date is read', ['inclusive', 'exclusive', 'ignored']).default(
      'inclusive',
    ),
  )
  .option('--history-limit <days>', 'refuse windows that begin earlier', wholeNumber())
  .option('--options <json>', 'any other option of the sandbox library, as JSON')
  .option('--archive <folder>', 'write bulk archives as the vendor hands them out, and end')
  .addHelpText(
    'after',
    examples('gmsi sandbox --port 0 --unlimited --seed mine', 'gmsi sandbox --archive files'),
  )
  .action(runs(async () => (await import('./commands/sandbox.ts')).sandboxCommand, { readable: true }));

program.commandsGroup('Load:');
program
  .command('plan')
  .description('say what a run would do, spending no request')
  .argument(...jobs)
  .option('--full-refresh', 'as if nothing were covered')
  .option('--retry-refused', 'as if nothing had been refused')
  .addOption(acceptRetractions)
  .addHelpText('after', examples('gmsi plan g7-inflation'))
  .action(runs(async () => (await import('./commands/plan.ts')).planCommand));
program
  .command('backfill')
  .description("drain every day of the job's period that is not covered yet")
  .argument(...jobs)
  .option('--full-refresh', 'drain covered days, too')
  .option('--retry-refused', 'ask again for all windows that were refused, not only for a few')
  .addOption(acceptRetractions)
  .addOption(
    new Option('--enqueue', 'only plan it, and leave it to gmsi work').conflicts('acceptRetractions'),
  )
  .addHelpText(
    'after',
    examples(
      'gmsi backfill g7-inflation',
      'gmsi backfill jobs/*.yaml --quiet',
      'gmsi backfill g7-inflation --enqueue    for the workers to do',
    ),
  )
  .action(runs(async () => (await import('./commands/load.ts')).backfillCommand));
program
  .command('sync')
  .description('drain the settling days again and every missing day since, then read the live feed')
  .argument(...jobs)
  .addOption(acceptRetractions)
  .addHelpText(
    'after',
    examples('gmsi sync g7-inflation', '15 * * * *  gmsi sync g7-inflation --quiet    as a line of crontab'),
  )
  .action(runs(async () => (await import('./commands/load.ts')).syncCommand));
program
  .command('import')
  .description('load bulk archives and files of records (CSV, NDJSON, Parquet, ZIP); spends no request')
  .argument('<file...>', 'files, folders and ZIP files')
  .option('--feed <feed>', 'the feed of the records, unless the names say it')
  .option('--country <code>', 'their country, unless folders (country=US) or the records say it')
  .option('--topic <name>', 'their topic, unless folders (topic_name=…) or the records say it')
  .option('--ticker <code>', 'their ticker, unless names (…_BZ_COM.zip) or the records say it')
  .option('--match-type <type>', 'their match type, unless folders (match_type=…, index_type=…) say it')
  .option('--from <day>', 'first day (UTC) that the files hold completely: it counts as covered', day)
  .option('--to <day>', 'last day (UTC) that they hold completely', day)
  .addHelpText(
    'after',
    examples(
      'gmsi import archives',
      'gmsi import asset_headlines_BZ_COM.zip --match-type COMBINED',
      'gmsi import us.csv --feed gmsi-headlines --country US --topic Wars --match-type COMBINED',
    ),
  )
  .action(runs(async () => (await import('./commands/import/import.ts')).importCommand));
program
  .command('work')
  .description('run scheduled and queued work until stopped; on any number of machines')
  .argument('[job...]', `${jobs[1]}; all in jobs/ that have a schedule if left out`)
  .option('--concurrency <number>', 'windows to work on at a time', wholeNumber({ from: 1, to: 100 }), 8)
  .option(
    '--metrics-port <number>',
    'port of /metrics, /healthz and /readyz; 0 for any (9464, or any)',
    wholeNumber({ to: 65_535 }),
  )
  .addHelpText('after', examples('gmsi work', 'gmsi work g7-inflation --concurrency 4 --metrics-port 0'))
  .action(runs(async () => (await import('./commands/work.ts')).workCommand));

program.commandsGroup('Look:');
program
  .command('jobs')
  .description('list the jobs: feed, period, how far each is covered, next run; spends no request')
  .addHelpText('after', examples('gmsi jobs'))
  .action(runs(async () => (await import('./commands/jobs.ts')).jobsCommand));
program
  .command('status')
  .description('show coverage, gaps, windows, quota and the last loads; spends no request')
  .argument('[job...]', jobs[1])
  .option('--watch', 'follow what the workers are doing, until interrupted')
  .addHelpText('after', examples('gmsi status', 'gmsi status g7-inflation --json', 'gmsi status --watch'))
  .action(runs(async () => (await import('./commands/status/status.ts')).statusCommand));
program
  .command('serve')
  .description('show the warehouse as a web page, with an API; spends no request')
  .option('--host <address>', 'address to listen on; any but loopback needs GMSI_SERVE_TOKEN', '127.0.0.1')
  .option('--port <number>', 'port to listen on; 0 for any', wholeNumber({ to: 65_535 }), 8426)
  .option('--name <name>', 'a name under which browsers reach it; may be given several times', gathered)
  .addHelpText('after', examples('gmsi serve', 'gmsi serve --host 0.0.0.0 --name data.example.com'))
  .action(runs(async () => (await import('./commands/serve.ts')).serveCommand, { readable: true }));
program
  .command('report')
  .description('write the present state as one file of HTML, to send or to keep; spends no request')
  .option('--html [file]', 'where to; - for standard output (gmsi-report.html)')
  .addHelpText('after', examples('gmsi report', 'gmsi report --html monday.html'))
  .action(runs(async () => (await import('./commands/report.ts')).reportCommand));
program
  .command('check')
  .description('look for errors in what is loaded; spends no request')
  .argument('[job...]', jobs[1])
  .option('--list', 'only list the checks, with their settings')
  .option('--only <check>', 'run this check; may be given several times', gathered)
  .option('--set <setting=number>', 'a setting for this run; may be given several times', gathered)
  .option('--checks <folder>', "checks of your own, besides the program's and those in jobs/checks")
  .option('--rows <number>', 'findings to show of a check (5; with --json 100)', wholeNumber())
  .option('--timeout <seconds>', 'stop a check that takes longer; 0 for no limit', wholeNumber(), 600)
  .addHelpText('after', examples('gmsi check g7-inflation --only lost-rows --rows 20', 'gmsi check --list'))
  .action(runs(async () => (await import('./commands/check.ts')).checkCommand));
program
  .command('why')
  .description('show what brought a row, its versions, and whether it still stands; spends no request')
  .argument('<id>', 'its headline_id, or the id of a row of another feed')
  .addHelpText('after', examples('gmsi why 5f0c1c9e-3c0a-4b52-8d5e-0d7f3a9b1c22'))
  .action(runs(async () => (await import('./commands/why.ts')).whyCommand));
program
  .command('psql')
  .description('open psql on the warehouse in use')
  .option('-c, --command <sql>', 'run statements and exit; needs no psql')
  .option('--address', 'print the address, with its password, instead')
  .addHelpText('after', examples('gmsi psql', 'gmsi psql -c "select * from gmsi.coverage limit 5"'))
  .action(runs(async () => (await import('./commands/psql.ts')).psqlCommand));
program
  .command('reader')
  .description('make a login that may only read, or give it a new password, and print its address')
  .argument('<name>', 'its name: small letters, digits and _')
  .addHelpText('after', examples('gmsi reader analyst'))
  .action(runs(async () => (await import('./commands/reader.ts')).readerCommand));
program
  .command('export')
  .description('write what is loaded into Parquet or CSV files, one a month; spends no request')
  .argument('[job]', `${jobs[1]}; all headlines if left out`)
  .addOption(
    oneOf('--format <format>', 'excel is one CSV file', ['parquet', 'csv', 'excel']).default('parquet'),
  )
  .option('--from <day>', 'first day (UTC), such as 2025-01-01; no bound if left out', day)
  .option('--to <day>', 'last day (UTC), inclusive; no bound if left out', day)
  .option('--as-of <moment>', 'rows as they were then, such as 2025-06-30T12:00:00Z')
  .option('--country <code...>', 'only these countries, if no job is given')
  .option('--topic <name...>', 'only these topics, if no job is given')
  .addOption(oneOf('--rollup <kind>', 'sums by hour or day instead of the headlines', ['hourly', 'daily']))
  .option('--out <folder>', 'folder to create (export/ and the name of the job), or s3://bucket/folder')
  .option('--overwrite', 'replace an existing export')
  .option('--changed-since [load|moment]', 'continue an export: write only months that have changed since')
  .addHelpText(
    'after',
    examples(
      'gmsi export g7-inflation',
      'gmsi export --country US --from 2025-01-01 --format csv --out us-2025',
      'gmsi export g7-inflation --as-of 2025-06-30T12:00:00Z',
      'gmsi export g7-inflation --changed-since    only what has changed since the last export',
    ),
  )
  .action(runs(async () => (await import('./commands/export.ts')).exportCommand));

program.commandsGroup('Keep:');
program
  .command('lookups')
  .description('refresh what the service lists: countries, topics, tickers … (5 requests)')
  .option('--search <words>', 'only ask the service which countries match (1 request); stores nothing')
  .option('--parameter <name>', 'the query parameter that takes these words', 'keywords')
  .addHelpText('after', examples('gmsi lookups', 'gmsi lookups --search germany'))
  .action(runs(async () => (await import('./commands/lookups.ts')).lookupsCommand));
program
  .command('replay')
  .description('read rejected records and extra fields again, spending no request')
  .argument('[job...]', `${jobs[1]}; all feeds if left out`)
  .option('--dry-run', 'only say what would change')
  .addHelpText('after', examples('gmsi replay --dry-run', 'gmsi replay g7-inflation'))
  .action(runs(async () => (await import('./commands/replay.ts')).replayCommand));
program
  .command('rollup')
  .description('show the hourly and daily rollups, or compute them again; spends no request')
  .option('--rebuild', 'compute them again from the headlines, and say what was wrong')
  .option('--from <day>', 'first day (UTC) to rebuild; no bound if left out', day)
  .option('--to <day>', 'last day (UTC) to rebuild, itself included', day)
  .addHelpText('after', examples('gmsi rollup', 'gmsi rollup --rebuild --from 2025-01-01'))
  .action(runs(async () => (await import('./commands/rollup.ts')).rollupCommand));
program
  .command('migrate')
  .description('bring the warehouse to the newest schema')
  .argument('[what]', '"status" only shows what is applied')
  .addHelpText('after', examples('gmsi migrate', 'gmsi migrate status'))
  .action(runs(async () => (await import('./commands/migrate.ts')).migrateCommand));

program.commandsGroup('Other:');
program.addHelpCommand(
  program.createCommand('help').argument('[command]').description('print the help of a command'),
);
addCompletion(program, examples);
