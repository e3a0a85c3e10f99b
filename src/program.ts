import { Command } from '@commander-js/extra-typings';
import { examples, type GmsiCommand } from './commands/command.ts';
import type { GlobalOptions } from './commands/run-command.ts';
import { addCompletion } from './completion.ts';
import { build, inPackage } from './package.ts';
import { isAtTerminal, print, printError } from './terminal/print.ts';

/** Each command's summary, and the module that exports the command by its name. */
type Listed<Name extends PropertyKey> = {
  readonly [One in Name]: readonly [
    summary: string,
    load: () => Promise<{ readonly [Export in One]: GmsiCommand }>,
  ];
};

function listed<Commands extends object>(commands: Commands & Listed<keyof Commands>): Listed<string> {
  return commands as Listed<string>;
}

/**
 * The commands, by the groups of the help. A command's code is imported only when it runs or its help is printed, since that
 * takes a third of a second.
 */
const groups: Readonly<Record<string, Listed<string>>> = {
  'Get started:': listed({
    init: ['answer questions to create .env and a first job', () => import('./commands/init.ts')],
    demo: [
      'run the whole pipeline on made-up data, in an embedded PostgreSQL',
      () => import('./commands/sandbox.ts'),
    ],
    doctor: [
      'check configuration, key, service, clock, database and privileges',
      () => import('./commands/doctor/doctor.ts'),
    ],
    lookups: [
      'refresh the names that jobs can use: countries, topics, tickers …',
      () => import('./commands/lookups.ts'),
    ],
  }),
  'Load:': listed({
    plan: ['show what a load would do and cost, or only check job files', () => import('./commands/plan.ts')],
    backfill: ['load every day of the job that is not loaded yet', () => import('./commands/load.ts')],
    sync: [
      'load what is new: recent days again (they may still change), days that are missing, and the live feed',
      () => import('./commands/load.ts'),
    ],
    import: [
      'load bulk archives and files of records (CSV, NDJSON, Parquet, ZIP)',
      () => import('./commands/import/import.ts'),
    ],
  }),
  'Inspect:': listed({
    status: [
      'show the jobs: what is loaded and missing, why, the next run, quota and the last loads',
      () => import('./commands/status.ts'),
    ],
    check: ['look for errors in the loaded data, or repair it', () => import('./commands/check.ts')],
    why: [
      'show which load and request loaded a row, its versions, and whether it was retracted',
      () => import('./commands/why.ts'),
    ],
  }),
  'Share:': listed({
    serve: ['show the warehouse as a web page, with an API', () => import('./commands/serve.ts')],
    psql: [
      'open psql on the warehouse in use, or create a read-only login',
      () => import('./commands/psql.ts'),
    ],
    snapshot: [
      'give a moment a name, for as-of queries and exports; without a name, list them',
      () => import('./commands/snapshot.ts'),
    ],
    export: [
      'write the loaded data to Parquet or CSV files, one a month',
      () => import('./commands/export.ts'),
    ],
  }),
  'Operate:': listed({
    work: [
      'run scheduled and queued work until stopped, on any number of machines',
      () => {
        // A worker reads its job files again on SIGHUP, which would end it while its code is imported. At a terminal it should:
        // its window was closed.
        if (!isAtTerminal()) process.on('SIGHUP', () => {});
        return import('./commands/work.ts');
      },
    ],
    job: [
      'pause, resume or stop what workers do for a job, without its file',
      () => import('./commands/job.ts'),
    ],
    budget: ['show the requests booked for each key, or correct them', () => import('./commands/budget.ts')],
    sandbox: [
      'run a local imitation of the service, with made-up data',
      () => import('./commands/sandbox.ts'),
    ],
    migrate: [
      'create or upgrade the schema (loads do, too), or move to another database',
      () => import('./commands/migrate.ts'),
    ],
  }),
};

export const commandNames: readonly string[] = Object.values(groups).flatMap(Object.keys);

/** Returns the command that is run, described or completed by these arguments. */
export function namedCommand(args: readonly string[]): string | undefined {
  const [first, second] = args.filter((word) => !word.startsWith('-'));
  return first === 'help' || first === 'complete' ? second : first;
}

/**
 * Builds the command line.
 * @param named the commands whose code is imported; the others have neither arguments nor options
 * @param run does what the typed command does
 */
export async function buildProgram(
  named: readonly (string | undefined)[],
  run: (command: GmsiCommand, args: unknown[], options: GlobalOptions) => Promise<void>,
): Promise<Command> {
  const program = new Command('gmsi')
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
  for (const [group, commands] of Object.entries(groups)) {
    program.commandsGroup(group);
    for (const [name, [summary, load]] of Object.entries(commands)) {
      const command = program.command(name).description(summary);
      if (!named.includes(name)) continue;
      const code = (await load())[name]!;
      code.define(command);
      command.action((...given: unknown[]) => run(code, given.slice(0, -1), program.opts()));
    }
  }
  program.helpCommand('help [command]', 'print the help of a command');
  addCompletion(program);
  return program;
}
