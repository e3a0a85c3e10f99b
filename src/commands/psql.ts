import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { Option } from '@commander-js/extra-typings';
import { parse } from 'pg-connection-string';
import { type OpenWarehouse, openWarehouse, type Session } from '../compose.ts';
import { environmentForPsql } from '../config/environment.ts';
import { ConfigError } from '../errors.ts';
import { exitCodes } from '../exit.ts';
import { gathered } from '../terminal/arguments.ts';
import { areResultsAtTerminal, isAtTerminal, print, printData, printError } from '../terminal/print.ts';
import { count, table } from '../terminal/table.ts';
import { namedDatabaseError, SchemaGone } from '../warehouse/errors.ts';
import { runStatements } from '../warehouse/run-statements.ts';
import { withoutTls } from '../warehouse/tls.ts';
import { type Command, examples, gmsiCommand } from './command.ts';
import { createReader } from './reader.ts';

const define = (psql: Command) =>
  psql
    .argument(
      '[psql...]',
      'options and arguments of psql, such as -f report.sql; after -- if they are also options of gmsi',
    )
    .allowUnknownOption()
    .option('-c, --command <sql>', 'run statements and exit; needs no psql; may be repeated', gathered)
    .option('--address', 'only print the address, with its password')
    .addOption(
      new Option(
        '--reader <name>',
        'only create a read-only login, or give it a new password, and print its address',
      ).conflicts(['command', 'address']),
    )
    .addHelpText(
      'after',
      examples(
        'gmsi psql',
        'gmsi psql -c "select * from gmsi.coverage limit 5"',
        'gmsi psql -At -f report.sql',
        'gmsi psql --reader analyst',
      ),
    );

/**
 * `gmsi psql`: opens psql on the warehouse in use, with options of its own, or runs statements, which needs no psql. With
 * `--address`, only prints the address, and keeps an embedded server running until Ctrl-C; with `--reader`, only creates a login.
 */
export const psql = gmsiCommand({ define }, async (session, given, options) => {
  const { command: commands = [], address, reader } = options;
  if (reader !== undefined && given.length > 0)
    throw new ConfigError('--reader takes nothing else.', { hint: `Omit ${given.join(' ')}.` });
  if (reader !== undefined) return createReader(session, reader);
  // Commands that begin with a backslash, such as `\copy`, are psql's own.
  const needsPsql =
    !address && (given.length > 0 || commands.length === 0 || commands.some((one) => /^\s*\\/.test(one)));
  if (needsPsql && spawnSync('psql', ['--version'], { env: environmentForPsql() }).status !== 0)
    throw new ConfigError('This command opens psql, and psql is not installed.', {
      hint:
        'Install psql (Debian: postgresql-client), or run statements: gmsi psql -c <sql>. ' +
        'To see the address: gmsi psql --address',
    });
  await using warehouse = await openWarehouse(session, 'as-is');
  // Awaited, not just returned, or the warehouse would be closed while they still use it.
  if (address) return await keepOpen(session, warehouse);
  if (needsPsql) return await openPsql(warehouse, commands, given);
  for (const statements of commands) await runCommand(warehouse, statements);
});

async function openPsql(
  warehouse: OpenWarehouse,
  commands: readonly string[],
  given: readonly string[],
): Promise<number> {
  const args = ['-v', 'ON_ERROR_STOP=1', ...commands.flatMap((command) => ['-c', command]), ...given];
  const env = { ...environmentForPsql(), ...addressFor(warehouse) };
  // With -A or --csv, psql writes texts as they are, and a headline could move the cursor. Only a psql that reads commands from
  // the terminal has to write to it by itself (SECURITY.md).
  const talks = process.stdin.isTTY && isInteractive(args);
  const written = (isTerminal: boolean) => (isTerminal && !talks ? 'pipe' : 'inherit');
  const stdio = ['inherit', written(areResultsAtTerminal()), written(isAtTerminal())] as const;
  const child = spawn('psql', args, { stdio: [...stdio], env });
  child.stdout?.setEncoding('utf8').on('data', (text) => printData(Buffer.from(text)));
  child.stderr?.setEncoding('utf8').on('data', (text) => printError(text));
  leaveSignalsTo(child);
  const [code] = await once(child, 'close');
  return code ?? exitCodes.incomplete;
}

/**
 * Returns true if psql with these arguments takes commands from its input: none of -c, -f, -l, --help or --version, nor
 * --command, --file or --list in a shorter form. Letters after an option that has a value are that value.
 */
export function isInteractive(args: readonly string[]): boolean {
  return !args.some((arg) => /^-[^-dFhLopPRTUv]*[cflV?]|^--(com|fil|lis|hel|vers)/.test(arg));
}

/** Ignores Ctrl-C, with which psql cancels a statement: this program must go on, because it keeps the server running. */
function leaveSignalsTo(child: ChildProcess): void {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.removeAllListeners(signal);
  process.on('SIGINT', () => {});
  process.on('SIGTERM', () => child.kill('SIGTERM'));
}

async function keepOpen({ config, stop }: Session, { url, description }: OpenWarehouse): Promise<undefined> {
  // SQLAlchemy takes no other form.
  const address = url?.reveal().replace(/^postgres:/, 'postgresql:');
  print(`${address ?? 'the PG* variables of this environment'}\n`);
  if (config.warehouse.kind !== 'embedded') return;
  printError(`${description} runs at this address until Ctrl-C.\n`);
  // Without a timer, this process would end in the middle of waiting if the server is killed.
  using _timer = setInterval(() => {}, 60_000);
  if (!stop.aborted) await once(stop, 'abort');
}

/** Runs statements and prints their results. */
async function runCommand({ address }: OpenWarehouse, statements: string): Promise<void> {
  try {
    const results = await runStatements(address, statements, ({ severity, message }) =>
      printError(`${severity}:  ${message}\n`),
    );
    for (const { command, rowCount, columns, rows } of results) {
      const cells = rows.map((row) => row.map((value) => value ?? 'NULL'));
      if (columns.length > 0) print(`${table(columns, cells)}\n(${count(rows.length, 'row')})\n\n`);
      else print(rowCount === null ? `${command}\n` : `${command} ${rowCount}\n`);
    }
  } catch (error) {
    const named = namedDatabaseError(error);
    const isOfStatement = named === error || named instanceof SchemaGone;
    if (!isOfStatement || !(error instanceof Error)) throw named;
    throw new ConfigError(`The statement fails: ${error.message}`, {
      cause: error,
      hint: 'Fix the statement.',
    });
  }
}

/** Passes the address through the environment, so that no list of processes shows the password. */
function addressFor({ url }: OpenWarehouse): Record<string, string> {
  if (!url) return {};
  const { address, tls } = withoutTls(url.reveal());
  const { host, port, user, password, database, options } = parse(address);
  const settings = {
    PGHOST: host,
    PGPORT: port,
    PGUSER: user,
    PGPASSWORD: password,
    PGDATABASE: database,
    PGOPTIONS: options,
    PGSSLMODE: tls.sslmode,
    PGSSLROOTCERT: tls.sslrootcert,
    PGSSLCERT: tls.sslcert,
    PGSSLKEY: tls.sslkey,
  };
  return Object.fromEntries(
    Object.entries(settings).flatMap(([name, value]) => (value ? [[name, value]] : [])),
  );
}
