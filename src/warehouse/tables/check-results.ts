import { type Kysely, sql } from 'kysely';
import { GmsiError } from '../../errors.ts';
import type { Warehouse } from '../connect.ts';
import type { Database } from '../database.ts';
import { isReadOnly } from '../health.ts';

/** A row of `gmsi.check_results`. */
export interface KeptResult {
  readonly job: string;
  readonly check_name: string;
  readonly title: string;
  readonly severity: 'fail' | 'warn';
  readonly result: 'passed' | 'failed' | 'warned' | 'known' | 'skipped';
  readonly findings: number;
  readonly known: number;
  readonly reason: string | null;
}

/**
 * Stores the results of a run of checks in place of those before it.
 * @param isWholeRun whether every check was run; then results of checks that no longer exist are removed
 * @returns false if the user may not write, or the server takes no writes
 */
export async function keepCheckResults(
  warehouse: Warehouse,
  results: readonly KeptResult[],
  isWholeRun: boolean,
): Promise<boolean> {
  // Asked first, because a write would wait for minutes, as after a failover.
  if (await isReadOnly(warehouse)) return false;
  const jobs = results.map(({ job }) => job);
  try {
    await warehouse.transaction().execute(async (trx) => {
      await sql`
        insert into gmsi.check_results (job, check_name, title, severity, result, findings, known, reason)
        select distinct on (job, check_name) job, check_name, title, severity, result, findings, known, reason
        from jsonb_populate_recordset(null::gmsi.check_results, ${JSON.stringify(results)}::jsonb)
        on conflict (job, check_name) do update
        set title = excluded.title, severity = excluded.severity, result = excluded.result, findings = excluded.findings,
            known = excluded.known, reason = excluded.reason, checked_at = excluded.checked_at
      `.execute(trx);
      if (isWholeRun)
        await sql`delete from gmsi.check_results where job = any(${jobs}::text[]) and checked_at < now()`.execute(
          trx,
        );
    });
    return true;
  } catch (error) {
    // 42501: no privilege.
    const { code } = (error instanceof GmsiError ? error.cause : error) as { code?: string };
    if (code === '42501') return false;
    throw error;
  }
}

/** A finding that somebody acknowledges: a row of `gmsi.known_findings`. */
export interface KnownFinding {
  readonly job: string;
  readonly check_name: string;
  readonly digest: string;
  readonly finding: unknown;
  readonly reason: string;
}

/** Stores findings as known; one that is known already keeps its reason. */
export async function addKnownFindings(
  db: Kysely<Database>,
  findings: readonly KnownFinding[],
): Promise<void> {
  await sql`
    insert into gmsi.known_findings (job, check_name, digest, finding, reason)
    select job, check_name, digest, finding, reason
    from jsonb_populate_recordset(null::gmsi.known_findings, ${JSON.stringify(findings)}::jsonb)
    on conflict do nothing`.execute(db);
}

/** Forgets all known findings of a check in these jobs. */
export async function forgetKnownFindings(
  db: Kysely<Database>,
  jobs: readonly string[],
  check: string,
): Promise<void> {
  await sql`
    delete from gmsi.known_findings where job = any(${jobs}::text[]) and check_name = ${check}`.execute(db);
}
