import { Option } from '@commander-js/extra-typings';
import { openWarehouse, type Session } from '../compose.ts';
import { ConfigError } from '../errors.ts';
import { printResult } from '../terminal/print.ts';
import { nextStep, tableOf } from '../terminal/table.ts';
import { missingRoles } from '../warehouse/health.ts';
import { migrate, migrationStatus } from '../warehouse/migrate.ts';
import { type Command, examples, gmsiCommand } from './command.ts';
import { move, release } from './move.ts';

const define = (command: Command) =>
  command
    .argument('[what]', '"status" only shows which migrations are applied')
    .option(
      '--force',
      'upgrade even while processes of the older version run; they may fail or load days twice',
    )
    .addOption(
      new Option(
        '--to <address>',
        'move everything to this empty database; without a password, that of PGPASSWORD or ~/.pgpass',
      ).conflicts('force'),
    )
    .addOption(
      new Option(
        '--release',
        'let loads into this warehouse again, which was moved away: the other one is lost or no longer used',
      ).conflicts(['force', 'to']),
    )
    .addHelpText(
      'after',
      examples('gmsi migrate', 'gmsi migrate status', 'gmsi migrate --to postgres://etl@db.example.com/gmsi'),
    );

/**
 * `gmsi migrate [status]`: upgrades the schema; with `--force` also while older programs work. With `--to`, moves everything to
 * another database instead.
 */
const command = gmsiCommand({ define, schemaUse: 'upgrades' }, async (session, what, options) => {
  const { force = false, to } = options;
  if (what !== undefined && (to !== undefined || options.release))
    throw new ConfigError('--to and --release take no argument.', { hint: `Omit ${what}.` });
  const reading: Session = { ...session, schemaUse: 'reads' };
  if (to !== undefined) return move(reading, to);
  if (options.release) return release(reading);
  if (what !== undefined && what !== 'status') {
    throw new ConfigError(`There is no gmsi migrate ${what}.`, {
      hint: 'gmsi migrate upgrades the schema. To only see which migrations are applied: gmsi migrate status',
    });
  }
  await using warehouse = await openWarehouse(what === 'status' ? reading : session, 'as-is');
  let lacked: readonly string[] = [];
  if (what !== 'status') {
    const { log, stop, config } = session;
    const leaseSeconds = force ? undefined : config.leaseSeconds;
    lacked = await migrate(warehouse.patient, { log, stop, leaseSeconds, again: true });
  }
  const missing = await missingRoles(warehouse.patient);
  const migrations = (await migrationStatus(warehouse.patient)).map(({ name, executedAt }) => ({
    name,
    applied_at: executedAt?.toISOString() ?? null,
  }));
  const { description } = warehouse;
  const document = { warehouse: description, applied: lacked, migrations, missing_roles: missing };
  printResult(session, document, () => {
    const applied = ({ applied_at }: (typeof migrations)[number]) => applied_at ?? 'not yet';
    if (what === 'status') return `${tableOf(migrations, { migration: 'name', applied })}\n`;
    const did =
      lacked.length > 0
        ? `applied ${lacked.join(', ')}`
        : 'the schema is current; its functions, views and grants were recreated';
    return `${description}: ${did}\n${rolesScript(missing)}${nextStep('doctor')}`;
  });
});

export { command as migrate };

/** Lists the statements for a user who may create roles, if the migrating user may not. */
function rolesScript(missing: readonly string[]): string {
  if (missing.length === 0) return '';
  const script = missing.map((name) => `  create role ${name} nologin;`).join('\n');
  return `
You may not create roles. To have users who only load, or only read, let a user who may create roles run this,
and run gmsi migrate again:

${script}
`;
}
