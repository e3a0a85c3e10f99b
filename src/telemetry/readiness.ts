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
export function readinessReader(warehouse: Warehouse, stop: AbortSignal): () => Promise<Readiness> {
  let looking: ReturnType<typeof migrationStatus> | undefined;

  return async () => {
    const reasons = stop.aborted ? ['shutting down'] : [];
    // Shared by all who ask meanwhile: else each of them would take a connection of a warehouse that does not answer.
    looking ??= migrationStatus(warehouse).finally(() => {
      looking = undefined;
    });
    try {
      const migrations = await inTime(looking, patience);
      const missing = migrations.filter(({ executedAt }) => executedAt === undefined);
      if (missing.length > 0) reasons.push(`the schema lacks ${missing.map(({ name }) => name).join(', ')}`);
    } catch (error) {
      reasons.push(`the warehouse: ${(error as Error).message || 'no answer'}`);
    }
    return { ready: reasons.length === 0, reasons };
  };
}
