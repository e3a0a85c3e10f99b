import type { Warehouse } from '../warehouse/connect.ts';
import { migrationStatus } from '../warehouse/migrate.ts';
import { inTime } from './in-time.ts';

/** Whether work may be sent here. */
export interface Readiness {
  readonly ready: boolean;
  /** Why not. */
  readonly reasons: readonly string[];
}

/** Milliseconds; less than what asks for it waits, which is a second or a few. */
const patience = 3_000;

/** Looks whether the warehouse answers, its schema is this program's, and nobody has told the program to stop. */
export async function readiness(warehouse: Warehouse, stop: AbortSignal): Promise<Readiness> {
  const reasons = stop.aborted ? ['shutting down'] : [];
  try {
    const migrations = await inTime(migrationStatus(warehouse), patience);
    const missing = migrations.filter(({ executedAt }) => executedAt === undefined);
    if (missing.length > 0) reasons.push(`the schema lacks ${missing.map(({ name }) => name).join(', ')}`);
  } catch (error) {
    reasons.push(`the warehouse: ${(error as Error).message || 'no answer'}`);
  }
  return { ready: reasons.length === 0, reasons };
}
