import type { Feed } from '../feeds/feed.ts';
import { inPackage } from '../package.ts';
import type { CheckScope } from '../questions/job-sets.ts';
import {
  type CheckFindings,
  CheckStopped,
  findingsOfCheck,
  holdsRows,
  noFindings,
  SqlRefused,
} from '../questions/run-check.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import { inOneSnapshot, type Snapshot } from '../warehouse/snapshot.ts';
import { BrokenCheck, type Check } from './check-file.ts';

/** The result of a check in a job. */
export interface CheckResult extends CheckFindings {
  readonly check: Check;
  /**
   * `known` if somebody has acknowledged all findings; `skipped` if the check is not for the job's feed, or if a table or set
   * that it needs is empty.
   */
  readonly result: 'passed' | 'failed' | 'warned' | 'known' | 'skipped';
  /** Why it was skipped or did not finish; else null. */
  readonly reason: string | null;
  readonly seconds: number;
}

/** A job as its checks see it. */
export interface CheckedJob {
  readonly name: string;
  readonly feed: Feed;
  readonly scope: CheckScope;
}

export interface CheckRun {
  /** The most findings of a check that are kept as rows. */
  readonly rows: number;
  /** Seconds after which a check is stopped; it then counts as one that found something. */
  readonly timeout: number;
  readonly stop: AbortSignal;
}

/**
 * Runs all checks over all jobs in one read-only transaction, so that all of them see the same moment. Sends no request and
 * writes nothing.
 * @returns for each job, the checks in their order
 * @throws BrokenCheck if PostgreSQL refuses a check's SQL
 */
export async function runChecks(
  warehouse: Warehouse,
  jobs: readonly CheckedJob[],
  checks: readonly Check[],
  run: CheckRun,
): Promise<CheckResult[][]> {
  const { timeout, stop } = run;
  return inOneSnapshot(warehouse, { timeout, stop, rights: 'reader' }, async (snapshot) => {
    const results: CheckResult[][] = [];
    for (const job of jobs) {
      const ofJob: CheckResult[] = [];
      for (const check of checks) {
        run.stop.throwIfAborted();
        const startedAt = performance.now();
        const outcome = await outcomeOf(snapshot, job, check, run.rows).catch((error: unknown) =>
          unfinished(check, error),
        );
        // A check that was stopped has no result.
        run.stop.throwIfAborted();
        ofJob.push({ check, ...outcome, seconds: (performance.now() - startedAt) / 1000 });
      }
      results.push(ofJob);
    }
    return results;
  });
}

type Outcome = Omit<CheckResult, 'check' | 'seconds'>;

async function outcomeOf(
  snapshot: Snapshot,
  { name: job, feed, scope }: CheckedJob,
  check: Check,
  rows: number,
): Promise<Outcome> {
  if (!check.feeds.some((name) => name === 'all' || name === feed.name))
    return skipped(`not for ${feed.name}`);
  for (const needed of check.needs)
    if (!(await holdsRows(snapshot, needed, scope)))
      return skipped(reasonIfEmpty[needed] ?? `${needed} is empty`);
  return judged(check, await findingsOfCheck(snapshot, { ...check, job }, scope, rows));
}

/** For sets that most feeds lack, in words that do not need the reference. */
const reasonIfEmpty: Readonly<Record<string, string>> = {
  job_models: 'no probabilities in this job',
  job_numbers: 'no scores in this job',
  job_sums: 'no index values in this job',
};

function skipped(reason: string): Outcome {
  return { result: 'skipped', reason, ...noFindings };
}

function judged({ severity }: Check, found: CheckFindings, reason: string | null = null): Outcome {
  const isFine = found.findings === 0 && reason === null;
  const fine = found.known > 0 ? 'known' : 'passed';
  return { result: isFine ? fine : severity === 'fail' ? 'failed' : 'warned', reason, ...found };
}

/**
 * Returns the result of a check that did not finish; a check that was stopped counts as failed. @throws BrokenCheck with the
 * file whose SQL PostgreSQL refuses
 */
function unfinished(check: Check, error: unknown): Outcome {
  if (error instanceof CheckStopped) return judged(check, noFindings, error.message);
  if (!(error instanceof SqlRefused)) throw error;
  const line = error.offset === undefined ? '' : `:${check.query.slice(0, error.offset).split('\n').length}`;
  throw new BrokenCheck(`${check.path}${line}: ${error.message}`, {
    cause: error.cause,
    hint:
      error.hint ?? `A check is one query that reads. What it can read: ${inPackage('docs/reference.md')}`,
  });
}
