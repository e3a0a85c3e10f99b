import { Command, Option } from 'commander';
import type { GlobalOptions, Command as GmsiCommand } from './commands/run-command.ts';
import { addCompletion } from './completion.ts';
import { build, inPackage } from './package.ts';
import { day, gathered, wholeNumber } from './terminal/arguments.ts';
import { isAtTerminal, print, printError } from './terminal/print.ts';
import { command } from './terminal/style.ts';
import { asTyped } from './terminal/table.ts';

/** The exit code of the command, once `program` has run it; 0 for `--help`. */
export const ended = { exitCode: 0 };

/** The command line: name, arguments and help of each command. The command's code is loaded when it is run. */
export const program = new Command('gmsi')
  .description('Loads the Global Macro Sentiment Indices (GMSI) headline feeds into PostgreSQL.')
  .version(build, '-V, --version', 'print the version and the commit')
  .helpOption('-h, --help', 'print help')
  .configureHelp({ showGlobalOptions: true, sortSubcommands: false, minWidthToWrap: 20 })
  .option('--json', 'print the result as one JSON document')
  .option('-q, --quiet', 'no progress, and no log but warnings; the result is still printed')
  .option('-v, --verbose', 'log more, and show where an error came from')
  .addHelpText(
    'after',
    `${examples(
      'gmsi demo                     try it on made-up data, without a key',
      'gmsi init                     create .env and a first job',
      'gmsi plan g7-inflation        show what loading it would cost',
      'gmsi backfill g7-inflation    load it; run it again to continue',
      'gmsi sync g7-inflation        load what is new',
      'gmsi psql -c "select count(*) from gmsi.headlines"',
    )}
Exit codes:
  0    everything is done
  1    something failed; run it again to retry
  2    do not retry: a job file, argument, key or address is wrong
  75   stopped at the request budget; run it again when the message says so
  130  interrupted

Requests: init sends 2, doctor 2 (--probe 12), and lookups 5.
backfill, sync and work send what gmsi plan shows.
Other commands send none to the vendor.

Documentation: ${inPackage('docs')}
`,
  )
  .configureOutput({ writeOut: print, writeErr: printError, outputError: () => {} })
  .exitOverride();

/** Returns the examples below a help, as the program was started, so that they can be copied. */
function examples(...lines: readonly string[]): string {
  const shown = lines.map((line) => {
    const [typed = '', ...about] = line.replace('gmsi ', asTyped('')).split(/(?= {4})/);
    return `  ${command(typed)}${about.join('')}\n`;
  });
  return `\nExamples:\n${shown.join('')}`;
}

function oneOf(flags: string, description: string, values: readonly string[]): Option {
  return new Option(flags, description).choices(values);
}

/** Imports a command's code only when the command runs, so that `--help` and `--version` stay fast. */
function runs<Args extends unknown[]>(load: () => Promise<GmsiCommand<Args>>, { readable = false } = {}) {
  return async (...given: unknown[]) => {
    const args = given.slice(0, -1) as Args;
    const name = (given.at(-1) as Command).name();
    const { runCommand } = await import('./commands/run-command.ts');
    ended.exitCode = await runCommand(load, args, program.opts<GlobalOptions>(), { name, readable });
  };
}

const acceptRetractions = new Option(
  '--accept-retractions',
  'mark rows that the service no longer returns as retracted, even if they are most of a window',
);
const jobs = ['[job...]', 'path of a job file, or its name in jobs/ without .yaml'] as const;

/** The options that limit a command to a part of its jobs. */
function withPart(command: Command): Command {
  return command
    .option('--from <day>', 'only days (UTC) from this one on, such as 2025-01-01', day)
    .option('--to <day>', 'only days (UTC) up to and including this one', day)
    .option('--country <code>', 'only this country of the job; may be repeated', gathered)
    .option('--topic <name>', 'only this topic, or topics such as "Inflation-*"; may be repeated', gathered)
    .option('--ticker <code>', 'only this ticker; may be repeated', gathered);
}

const all = ['--all', 'every job in jobs/'] as const;
const reason = [
  '--reason <text>',
  'your reason for the load; stored with it, and shown by gmsi why',
] as const;

program.commandsGroup('Get started:');
program
  .command('init')
  .description('answer questions to create .env and a first job')
  .addHelpText('after', examples('gmsi init'))
  .action(runs(async () => (await import('./commands/init.ts')).initCommand));
program
  .command('demo')
  .description('run the whole pipeline on made-up data, in an embedded PostgreSQL')
  .option(
    '--remove',
    'delete the embedded PostgreSQL and its data; without --yes, only list what would be deleted',
  )
  .option('--yes', 'with --remove: do it')
  .option('--serve', 'then show the data as a web page, as gmsi serve does')
  .addHelpText('after', examples('gmsi demo', 'gmsi demo --serve', 'gmsi demo --remove --yes'))
  .action(runs(async () => (await import('./commands/sandbox.ts')).demoCommand, { readable: true }));
program
  .command('doctor')
  .description('check configuration, key, service, clock, database and privileges')
  .option(
    '--probe',
    'find out what the service does not document, such as how it reads end_date (at most 12 requests)',
  )
  .option('--job <job>', "probe this job's feed and series, with its settings")
  .addHelpText('after', examples('gmsi doctor', 'gmsi doctor --probe --job g7-inflation'))
  .action(runs(async () => (await import('./commands/doctor/doctor.ts')).doctorCommand));
program
  .command('lookups')
  .description('refresh the names that jobs can use: countries, topics, tickers …')
  .argument('[words]', 'only show the stored names that contain these words; no request')
  .addHelpText('after', examples('gmsi lookups', 'gmsi lookups germany'))
  .action(runs(async () => (await import('./commands/lookups.ts')).lookupsCommand));

program.commandsGroup('Load:');
program
  .command('validate')
  .description('check job files without a warehouse or a key, such as in CI')
  .argument('[job...]', `${jobs[1]} (default: all in jobs/)`)
  .addHelpText('after', examples('gmsi validate', 'gmsi validate g7-inflation --json'))
  .action(runs(async () => (await import('./commands/validate.ts')).validateCommand));
withPart(program.command('plan'))
  .description('show what a load would do and cost')
  .argument(...jobs)
  .option(...all)
  .option('--full-refresh', 'plan all days, also covered ones')
  .option('--retry-refused', 'plan all windows that the service refused, too')
  .option('--accept-retractions', 'plan as if the load had this option')
  .addHelpText('after', examples('gmsi plan g7-inflation'))
  .action(runs(async () => (await import('./commands/plan.ts')).planCommand));
withPart(program.command('backfill'))
  .description('load every day of the job that is not loaded yet')
  .argument(...jobs)
  .option(...all)
  .option('--full-refresh', 'load all days again, also covered ones')
  .option('--retry-refused', 'request all refused windows again, not only a few')
  .option(
    '--max-requests <number>',
    'stop after so many requests; run it again to continue',
    wholeNumber({ from: 1 }),
  )
  .addOption(acceptRetractions)
  .addOption(
    new Option('--enqueue', 'queue whole jobs for gmsi work, and return at once').conflicts([
      'maxRequests',
      'acceptRetractions',
      'reason',
      'from',
      'to',
      'country',
      'topic',
      'ticker',
    ]),
  )
  .option(...reason)
  .addHelpText(
    'after',
    examples(
      'gmsi backfill g7-inflation',
      'gmsi backfill --all --quiet',
      'gmsi backfill g7-inflation --max-requests 500',
      'gmsi backfill g7-inflation --from 2025-03-01 --to 2025-03-07 --full-refresh',
      'gmsi backfill g7-inflation --enqueue    queues it for the workers',
    ),
  )
  .action(runs(async () => (await import('./commands/load.ts')).backfillCommand));
withPart(program.command('sync'))
  .description(
    'load what is new: recent days again (they may still change), days that are missing, and the live feed',
  )
  .argument(...jobs)
  .option(...all)
  .addOption(acceptRetractions)
  .option(...reason)
  .addHelpText(
    'after',
    examples(
      'gmsi sync g7-inflation',
      '15 * * * *  gmsi sync g7-inflation --quiet >/dev/null    as a crontab line',
    ),
  )
  .action(runs(async () => (await import('./commands/load.ts')).syncCommand));
program
  .command('import')
  .description('load bulk archives and files of records (CSV, NDJSON, Parquet, ZIP)')
  .argument('<file...>', 'files, folders and ZIP files')
  .option('--feed <feed>', 'feed of the records, if file names do not show it')
  .option('--country <code>', 'country, if neither folders (country=US) nor records show it')
  .option('--topic <name>', 'topic, if neither folders (topic_name=…) nor records show it')
  .option('--ticker <code>', 'ticker, if neither file names (…_BZ_COM.zip) nor records show it')
  .option('--match-type <type>', 'match type, if folders (match_type=…, index_type=…) do not show it')
  .option(
    '--from <day>',
    'first day (UTC) the files contain in full; days from --from to --to count as covered',
    day,
  )
  .option('--to <day>', 'last day (UTC) the files contain in full', day)
  .option('--known-at <moment>', 'when everything in the files was known, if they are point in time')
  .addHelpText(
    'after',
    examples(
      'gmsi import archives',
      'gmsi import asset_headlines_BZ_COM.zip --match-type COMBINED',
      'gmsi import us.csv --feed gmsi-headlines --match-type COMBINED',
    ),
  )
  .action(runs(async () => (await import('./commands/import/import.ts')).importCommand));

program.commandsGroup('Inspect:');
program
  .command('status')
  .description('show the jobs: what is loaded and missing, why, the next run, quota and the last loads')
  .argument('[job...]', jobs[1])
  .option('--days', 'only the days that are missing: for each series, why, and what loads them')
  .addHelpText('after', examples('gmsi status', 'gmsi status g7-inflation --days'))
  .action(runs(async () => (await import('./commands/status.ts')).statusCommand));
withPart(program.command('check'))
  .description('look for errors in the loaded data')
  .argument('[job...]', `${jobs[1]} (default: every job in jobs/)`)
  .option(...all)
  .option('--only <check>', 'run only this check; may be repeated', gathered)
  .option('--rows <number>', 'findings to show for each check (default: 5; with --json 100)', wholeNumber())
  .option('--timeout <seconds>', 'stop a check that takes longer; 0 for no limit', wholeNumber(), 600)
  .addHelpText('after', examples('gmsi check g7-inflation --only lost-rows --rows 20'))
  .action(runs(async () => (await import('./commands/check.ts')).checkCommand));
program
  .command('why')
  .description('show which load and request loaded a row, its versions, and whether it was retracted')
  .argument('<id>', "headline_id, or the row's id in another feed")
  .addHelpText('after', examples('gmsi why 5f0c1c9e-3c0a-4b52-8d5e-0d7f3a9b1c22'))
  .action(runs(async () => (await import('./commands/why.ts')).whyCommand));

program.commandsGroup('Share:');
program
  .command('serve')
  .description('show the warehouse as a web page, with an API')
  .option('--host <address>', 'address to listen on; any but loopback needs GMSI_SERVE_TOKEN', '127.0.0.1')
  .option('--port <number>', 'port to listen on; 0 for any', wholeNumber({ to: 65_535 }), 8426)
  .option('--name <name>', 'host name that browsers use for this page; may be repeated', gathered)
  .addOption(
    new Option('--html [file]', 'write the page as one HTML file instead; - for standard output').conflicts([
      'host',
      'port',
      'name',
    ]),
  )
  .addHelpText(
    'after',
    examples(
      'gmsi serve',
      'gmsi serve --host 0.0.0.0 --name data.example.com',
      'gmsi serve --html monday.html    to send or to keep',
    ),
  )
  .action(runs(async () => (await import('./commands/serve.ts')).serveCommand, { readable: true }));
program
  .command('psql')
  .description('open psql on the warehouse in use')
  .argument(
    '[psql...]',
    'options and arguments of psql, such as -f report.sql; after -- if they are also options of gmsi',
  )
  .allowUnknownOption()
  .option('-c, --command <sql>', 'run statements and exit; needs no psql; may be repeated', gathered)
  .option('--address', 'only print the address, with its password')
  .addHelpText(
    'after',
    examples(
      'gmsi psql',
      'gmsi psql -c "select * from gmsi.coverage limit 5"',
      'gmsi psql -At -f report.sql',
    ),
  )
  .action(runs(async () => (await import('./commands/psql.ts')).psqlCommand));
program
  .command('snapshot')
  .description('give a moment a name, for as-of queries and exports; without a name, list them')
  .argument('[name]', 'letters, digits, - _ and .')
  .option('--at <moment>', 'a past moment, such as 2025-06-30T12:00:00Z (default: now)')
  .option('--note <text>', 'what it is for')
  .addOption(new Option('--remove', 'forget the name; the data stay').conflicts(['at', 'note']))
  .addHelpText('after', examples('gmsi snapshot paper-2026 --note "as submitted"', 'gmsi snapshot'))
  .action(runs(async () => (await import('./commands/snapshot.ts')).snapshotCommand));
program
  .command('reader')
  .description('create a read-only login, or give it a new password, and print its address')
  .argument('<name>', 'login name: lower-case letters, digits and _')
  .addHelpText('after', examples('gmsi reader analyst'))
  .action(runs(async () => (await import('./commands/reader.ts')).readerCommand));
program
  .command('export')
  .description('write the loaded data to Parquet or CSV files, one a month')
  .argument('[job]', `${jobs[1]} (default: all headlines)`)
  .addOption(oneOf('--format <format>', 'file format', ['parquet', 'csv']).default('parquet'))
  .addOption(new Option('--excel', 'one CSV file that is safe to open in Excel').conflicts('format'))
  .option('--from <day>', 'first day (UTC), such as 2025-01-01', day)
  .option('--to <day>', 'last day (UTC), inclusive', day)
  .option(
    '--as-of <moment>',
    'rows as they were at this moment, such as 2025-06-30T12:00:00Z, or the name of one',
  )
  .option('--country <code...>', 'only these countries; without a job')
  .option('--topic <name...>', 'only these topics; without a job')
  .addOption(
    oneOf('--rollup <kind>', 'sums by hour or day instead of the headlines', ['hourly', 'daily']).conflicts(
      'asOf',
    ),
  )
  .addOption(
    new Option('--versions', 'all versions of each row, with known_from and known_to').conflicts([
      'asOf',
      'rollup',
    ]),
  )
  .option('--out <folder>', 'folder to create, or s3://bucket/folder (default: export/<job>)')
  .option('--overwrite', 'replace an existing export')
  .addOption(
    new Option(
      '--changed-since [load|moment]',
      'continue an export: write only months that have changed',
    ).conflicts(['overwrite', 'asOf', 'excel']),
  )
  .addHelpText(
    'after',
    examples(
      'gmsi export g7-inflation',
      'gmsi export --country US --from 2025-01-01 --format csv --out us-2025',
      'gmsi export g7-inflation --as-of 2025-06-30T12:00:00Z',
      'gmsi export g7-inflation --changed-since    since the last export',
      'gmsi export g7-inflation --versions    to filter as of any moment',
    ),
  )
  .action(runs(async () => (await import('./commands/export.ts')).exportCommand));

program.commandsGroup('Operate:');
program
  .command('work')
  .description('run scheduled and queued work until stopped, on any number of machines')
  .argument(
    '[job...]',
    `${jobs[1]} (default: all in jobs/; without job files, all that other workers have stored)`,
  )
  .option(
    '--concurrency <number>',
    'backfills to run at a time, and syncs',
    wholeNumber({ from: 1, to: 20 }),
    4,
  )
  .addHelpText('after', examples('gmsi work', 'gmsi work g7-inflation --concurrency 4'))
  // A worker reads its job files again on SIGHUP. Before its code is imported, which takes a second or two, the signal would end it. At
  // a terminal it should: its window was closed.
  .hook('preAction', () => void (isAtTerminal() || process.on('SIGHUP', () => {})))
  .action(runs(async () => (await import('./commands/work.ts')).workCommand));
program
  .command('repair')
  .description('read rejected records and extra fields again')
  .argument('[job...]', `${jobs[1]} (default: all feeds)`)
  .option('--dry-run', 'only show what would change')
  .addOption(
    new Option('--rollups', 'compute the hourly and daily sums of headlines again instead').conflicts(
      'dryRun',
    ),
  )
  .addOption(
    new Option('--windows', 'delete failed and refused windows that no job wants instead').conflicts([
      'rollups',
      'from',
      'to',
    ]),
  )
  .option('--from <day>', 'with --rollups: first day (UTC)', day)
  .option('--to <day>', 'with --rollups: last day (UTC), inclusive', day)
  .addHelpText(
    'after',
    examples(
      'gmsi repair --dry-run',
      'gmsi repair g7-inflation',
      'gmsi repair --rollups --from 2025-01-01',
      'gmsi repair --windows --dry-run',
    ),
  )
  .action(runs(async () => (await import('./commands/repair.ts')).repairCommand));
program
  .command('move')
  .description('bring everything of the warehouse in use into another, empty database')
  .requiredOption(
    '--to <address>',
    'address of the database; without a password, that of PGPASSWORD or ~/.pgpass',
  )
  .addHelpText('after', examples('gmsi move --to postgres://etl@db.example.com/gmsi'))
  .action(runs(async () => (await import('./commands/move.ts')).moveCommand));
program
  .command('sandbox')
  .description('run a local imitation of the service, with made-up data')
  .option('--host <address>', 'address to listen on; 0.0.0.0 admits other machines', '127.0.0.1')
  .option('--port <number>', 'port to listen on', wholeNumber({ to: 65_535 }), 8425)
  .option('--seed <text>', 'seed of the made-up data', 'gmsi')
  .option('--key <key...>', 'API keys to accept', ['sandbox-key'])
  .option('--unlimited', 'turn off the rate limit and the quota')
  .option('--options <json>', 'more options as JSON: see packages/sandbox/README.md')
  .option('--archive <folder>', "write bulk archives like the vendor's, and exit")
  .addHelpText(
    'after',
    examples(
      'gmsi sandbox --port 0 --unlimited --seed mine',
      `gmsi sandbox --options '{"endDate":"ignored"}'`,
    ),
  )
  .action(runs(async () => (await import('./commands/sandbox.ts')).sandboxCommand, { readable: true }));
program
  .command('migrate')
  .description('create the schema, or upgrade it; loads do that, too')
  .argument('[what]', '"status" only shows which migrations are applied')
  .option(
    '--force',
    'upgrade even while processes of the older program work, which may fail or load days twice',
  )
  .addHelpText('after', examples('gmsi migrate', 'gmsi migrate status'))
  .action(runs(async () => (await import('./commands/migrate.ts')).migrateCommand));
program.addHelpCommand(
  program.createCommand('help').argument('[command]').description('print the help of a command'),
);
addCompletion(program, examples);
