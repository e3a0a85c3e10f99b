import { keepThisProcess, knownScope, openWarehouse, readJobs, type Session, today } from '../compose.ts';
import type { Job } from '../config/job.ts';
import { ConfigError } from '../errors.ts';
import { exitCodeOfOutcome, exitCodes, worst } from '../exit.ts';
import { catalog, feedNamed } from '../feeds/catalog.ts';
import { type RepairContext, type RepairResult, repair } from '../load/repair.ts';
import { wantedByJobs } from '../plan/wanted-days.ts';
import { type Failures, unwantedWindows } from '../questions/coverage.ts';
import { loadingJobs } from '../questions/runs.ts';
import { printResult, snakeCased } from '../terminal/print.ts';
import { showSteps } from '../terminal/progress.ts';
import { type Columns, count, table, tableOf } from '../terminal/table.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import type { Day } from '../warehouse/database.ts';
import { readLookups } from '../warehouse/tables/lookups.ts';
import { rollUp, seriesToRollUp } from '../warehouse/tables/rollups.ts';
import { forgetUnwanted } from '../warehouse/tables/windows.ts';

/** What `gmsi check --repair` takes. */
export const repairs = ['records', 'rollups', 'windows'] as const;

interface RepairOptions extends Partial<Days> {
  readonly repair: (typeof repairs)[number];
  readonly dryRun?: boolean;
}

/** The series of a job with the job's aliases, or a whole feed with its own. */
type Part = Pick<RepairContext, 'feed' | 'fields' | 'scope' | 'job'>;

/**
 * `gmsi check --repair`: reads the records and fields again that could not be read before (those of the jobs, or of all feeds),
 * computes the rollups again, or deletes windows that no job wants. Sends no request.
 * @returns the exit code
 */
export async function repairWarehouse(
  session: Session,
  names: readonly string[],
  { repair: what, dryRun = false, from, to }: RepairOptions,
): Promise<number | undefined> {
  if (what !== 'records' && names.length > 0)
    throw new ConfigError(`--repair ${what} takes no job.`, {
      hint: 'It repairs the whole warehouse; of the rollups, the days that --from and --to select.',
    });
  if (what !== 'rollups' && (from ?? to) !== undefined)
    throw new ConfigError('--from and --to need --repair rollups.', {
      hint: 'Records and windows are repaired for all days: omit them.',
    });
  if (what === 'rollups' && dryRun)
    throw new ConfigError('--repair rollups takes no --dry-run.', {
      hint: 'The check "rollups" shows which are wrong.',
    });
  if (what === 'rollups') return repairRollups(session, { from, to });
  return what === 'windows' ? repairWindows(session, dryRun) : repairRecords(session, names, dryRun);
}

async function repairRecords(session: Session, names: readonly string[], dryRun: boolean): Promise<number> {
  const jobs = await readJobs(session, names);
  await using warehouse = await openWarehouse(session);
  const { db } = warehouse;
  await using process = await keepThisProcess(session, warehouse.patient, 'repair');
  const parts = jobs.length > 0 ? await partsOfJobs(session, db, jobs) : allFeeds();
  const results: (RepairResult & { job: string })[] = [];
  for (const part of parts) {
    const { stop } = session;
    const result = await repair({ ...part, warehouse: warehouse.patient, dryRun, process, stop });
    results.push({ ...result, job: part.job });
  }
  printResult(session, snakeCased({ dryRun, repaired: results }), () => describe(results, dryRun));
  return worst(results.map(({ outcome }) => exitCodeOfOutcome(outcome)));
}

/**
 * Deletes windows that no job wants.
 * @throws ConfigError if nobody can say here which days the jobs want
 */
async function repairWindows(session: Session, dryRun: boolean): Promise<undefined> {
  await using warehouse = await openWarehouse(session);
  const { patient: db } = warehouse;
  const { leaseSeconds } = session.config;
  const known = await wantedByJobs(db, { cwd: process.cwd(), today: today(session), leaseSeconds });
  if ('unknown' in known) {
    throw new ConfigError(`Cannot tell which windows no job wants: ${known.unknown}.`, {
      hint: 'Run it in the folder of your jobs, once each of them can be read.',
    });
  }
  const isKnown = (name: string) => name === '' || known.wanted.some(({ job }) => job === name);
  const foreign = (await loadingJobs(db, leaseSeconds)).find((name) => !isKnown(name));
  if (foreign !== undefined) {
    throw new ConfigError(`A load of ${foreign} is running, and its job file is not in jobs/ here.`, {
      hint: 'Its windows would be deleted. Wait until it has ended, or run this in the folder of its job file.',
    });
  }
  const unwanted = await unwantedWindows(db, known.wanted, leaseSeconds);
  const deleted = dryRun ? 0 : await forgetUnwanted(db, known.wanted, leaseSeconds);
  const text = () => `${describeUnwanted(unwanted, deleted, dryRun)}\n`;
  printResult(session, snakeCased({ dryRun, unwanted, deleted }), text);
}

const columns: Columns<Failures> = {
  state: 'state',
  windows: 'windows',
  feed: 'feed',
  series: 'series',
  'such as': 'example',
  from: 'first_day',
  to: 'last_day',
  because: 'says',
};

function describeUnwanted(unwanted: readonly Failures[], deleted: number, dryRun: boolean): string {
  if (unwanted.length + deleted === 0) return 'Every window is wanted by a job.';
  const end = dryRun
    ? 'Nothing was changed (--dry-run).'
    : `${count(deleted, 'window')} deleted that no job wants. Rows that they had loaded stay.`;
  return `${tableOf(unwanted, columns, { least: ['feed', 'series'] })}\n\n${end}`;
}

async function repairRollups(session: Session, days: Days): Promise<number> {
  await using warehouse = await openWarehouse(session);
  using steps = showSteps(session.log, session.progress);
  const rebuilt = await rebuildRollups(warehouse.db, days, session.stop, (done, all) =>
    steps.show(() => `rollups  ${done}/${all} series`),
  );
  steps[Symbol.dispose]();
  printResult(session, rebuilt, () => `${describeRebuilt(rebuilt)}\n`);
  return rebuilt.interrupted ? exitCodes.interrupted : exitCodes.done;
}

interface Days {
  readonly from: Day | undefined;
  readonly to: Day | undefined;
}

function describeRebuilt(rebuilt: Awaited<ReturnType<typeof rebuildRollups>>): string {
  const { series, corrected, interrupted } = rebuilt;
  const found = corrected === 0 ? 'all were right' : `${count(corrected, 'row')} of the rollups were wrong`;
  const rest = interrupted ? ' Interrupted; run it again for the rest.' : '';
  return `${count(series, 'series', 'series')} computed again: ${found}.${rest}`;
}

/**
 * Computes the rollups of some days again from the headlines (an open end means no bound). Each series has its own transaction,
 * so that a load waits for one series at most.
 * @returns the number of series, and of rows that were wrong
 */
export async function rebuildRollups(
  given: Warehouse,
  days: Days,
  stop: AbortSignal,
  onSeries: (done: number, all: number) => void,
) {
  const warehouse = given.patient({ signal: stop });
  const all = await seriesToRollUp(warehouse, days);
  let series = 0;
  let corrected = 0;
  for (const one of all) {
    if (stop.aborted) break;
    corrected += await rollUp(warehouse, one);
    onSeries(++series, all.length);
  }
  return { series, corrected, interrupted: series < all.length };
}

function allFeeds(): Part[] {
  return [...catalog.values()].map((feed) => ({ feed, fields: {}, scope: undefined, job: '' }));
}

async function partsOfJobs(session: Session, db: Warehouse, jobs: readonly Job[]): Promise<Part[]> {
  const lookups = await readLookups(db);
  return jobs.map((job) => {
    const feed = feedNamed(job.feed);
    const scope = knownScope(session, job, lookups, 'repair');
    return { feed, fields: job.fields, scope, job: job.name };
  });
}

function describe(results: readonly (RepairResult & { job: string })[], dryRun: boolean): string {
  const repaired = results.filter(
    ({ records, rowsFilled, rowsOfAnotherIdentity }) => records + rowsFilled + rowsOfAnotherIdentity > 0,
  );
  const isInterrupted = results.some(({ outcome }) => outcome === 'interrupted');
  if (repaired.length === 0 && !isInterrupted)
    return 'Nothing to repair: no record is rejected, and no field in extra belongs in a column.\n';
  const reasons = repaired.flatMap(({ feed, stillRejected }) =>
    Object.entries(stillRejected).map(([reason, many]) => [feed, reason, many]),
  );
  const blocks = [
    tableOf(repaired, {
      feed: 'feed',
      job: 'job',
      rejected: 'records',
      'now rows': 'rows',
      superseded: 'superseded',
      'rows filled': 'rowsFilled',
      'left alone': 'rowsOfAnotherIdentity',
    }),
    table(['feed', 'still rejected', 'records'], reasons),
    dryRun ? 'Nothing was changed (--dry-run).' : '',
    isInterrupted ? 'Interrupted; run it again for the rest.' : '',
  ];
  return `${blocks.filter((text) => text !== '').join('\n\n')}\n`;
}
