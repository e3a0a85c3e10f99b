import { worthAWarning } from '../pipeline/clocks.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import { migrationStatus } from '../warehouse/migrate.ts';
import { clockDifference, missingPrivileges, readStanding } from '../warehouse/queries/health.ts';
import { NotChecked, ToFix } from './doctor-findings.ts';

/** Missing privileges that are named; somebody without any lacks a hundred. */
const named = 3;

/** What the doctor looks at in a warehouse that answers: a line each, in this order. */
export const warehouseChecks: Readonly<Record<string, (db: Warehouse) => Promise<string>>> = {
  schema,
  privileges,
  clock,
};

/** True if a request can be booked there. */
export async function canBook(db: Warehouse): Promise<boolean> {
  try {
    const isMigrated = (await migrationStatus(db)).every(({ executedAt }) => executedAt);
    return isMigrated && (await missingPrivileges(db)).length === 0;
  } catch {
    return false;
  }
}

async function schema(db: Warehouse): Promise<string> {
  const { mayMigrate, mayRead, owner } = await readStanding(db);
  if (!mayRead) throw new NotChecked('the user may not look into it; see privileges');
  const migrations = await migrationStatus(db);
  const waiting = migrations.filter(({ executedAt }) => !executedAt).length;
  if (waiting === 0) return 'current';
  if (waiting === migrations.length) return 'not there yet: the first load makes it';
  const found = `${waiting} of ${migrations.length} migrations are still to be applied`;
  if (mayMigrate) return `${found}: the next load does it`;
  throw new ToFix(`${found}, and the user does not own it`, `As ${owner}: gmsi migrate`);
}

async function privileges(db: Warehouse): Promise<string> {
  const missing = await missingPrivileges(db);
  if (missing.length === 0) return 'enough to load';
  const { user, database, owner, loaderRole } = await readStanding(db);
  const more = missing.length > named ? ` and ${missing.length - named} more` : '';
  const found = `the user ${user} lacks ${missing.slice(0, named).join(', ')}${more}`;
  const grant = `grant gmsi_loader to ${user};`;
  if (owner === null) {
    const fix = `As the owner of the database: grant create on database ${database} to ${user};`;
    throw new ToFix(found, `${fix} Or let the owner run gmsi migrate, and then: ${grant}`);
  }
  const fixes = {
    'not granted': `As ${owner}: ${grant} (if it is only to read: grant gmsi_reader to ${user};)`,
    granted: `As ${owner}: gmsi migrate, which grants gmsi_loader what it lacks.`,
    missing: `As ${owner}, who must be allowed to create roles: gmsi migrate. Then: ${grant}`,
  };
  throw new ToFix(found, fixes[loaderRole]);
}

async function clock(db: Warehouse): Promise<string> {
  const seconds = await clockDifference(db);
  if (Math.abs(seconds) * 1000 > worthAWarning)
    throw new ToFix(
      `this machine is ${Math.round(seconds)} s off the warehouse's clock`,
      'Set both clocks by NTP: over an hour apart, no load counts a day as covered.',
    );
  return `within ${Math.max(1, Math.ceil(Math.abs(seconds)))} s of the warehouse`;
}
