import { knownScope, openWarehouse, readJobs, runBy, type Session } from '../compose.ts';
import type { Job } from '../config/job.ts';
import { exitCodeOfOutcome, worst } from '../exit.ts';
import { catalog, feedNamed } from '../feeds/catalog.ts';
import { type ReplayContext, type ReplayResult, replay } from '../load/replay.ts';
import { print, printJson } from '../terminal/print.ts';
import { count, number, table } from '../terminal/table.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import { readLookups } from '../warehouse/tables/lookups.ts';

/** The series of a job with the job's aliases, or a whole feed with its own. */
type Part = Pick<ReplayContext, 'feed' | 'fields' | 'scope' | 'job'>;

/** `gmsi replay [<job>…]`: reads again the records and fields that could not be read before; sends no request. */
export async function replayCommand(
  session: Session,
  names: string[],
  { dryRun = false }: { readonly dryRun?: boolean },
): Promise<number> {
  const jobs = await readJobs(session, names);
  await using warehouse = await openWarehouse(session);
  const { db } = warehouse;
  const parts = jobs.length > 0 ? await partsOfJobs(session, db, jobs) : allFeeds();
  const results: (ReplayResult & { job: string })[] = [];
  for (const part of parts) {
    if (session.stop.aborted) break;
    const { stop, log } = session;
    const result = await replay({ ...part, warehouse: db, dryRun, runBy, stop, log });
    results.push({ ...result, job: part.job });
  }
  if (session.json) printJson({ dryRun, replayed: results });
  else print(describe(results, dryRun));
  return worst(results.map(({ outcome }) => exitCodeOfOutcome(outcome)));
}

function allFeeds(): Part[] {
  return [...catalog.values()].map((feed) => ({ feed, fields: {}, scope: undefined, job: '' }));
}

async function partsOfJobs(session: Session, db: Warehouse, jobs: readonly Job[]): Promise<Part[]> {
  const lookups = await readLookups(db);
  return jobs.map((job) => {
    const feed = feedNamed(job.feed);
    const scope = knownScope(session, job, lookups, 'replay');
    return { feed, fields: job.fields, scope, job: job.name };
  });
}

function describe(results: readonly (ReplayResult & { job: string })[], dryRun: boolean): string {
  const met = results.filter(
    ({ records, rowsFilled, rowsOfAnotherIdentity }) => records + rowsFilled + rowsOfAnotherIdentity > 0,
  );
  if (met.length === 0)
    return 'Nothing to replay: no record is rejected, and no field in extra has a column.\n';
  const rows = met.map((result) => [
    ...[result.feed, result.job, result.records, result.rows, result.superseded],
    ...[sum(result.stillRejected), result.rowsFilled],
  ]);
  const head = ['feed', 'job', 'rejected', dryRun ? 'would be rows' : 'now rows', 'superseded'];
  const lines = [table([...head, 'still rejected', dryRun ? 'would be filled' : 'rows filled'], rows), ''];
  for (const { feed, columnsFilled, stillRejected, superseded, rowsOfAnotherIdentity } of met) {
    if (sum(columnsFilled) > 0)
      lines.push(`${feed}: columns ${dryRun ? 'that would be ' : ''}filled: ${listed(columnsFilled)}`);
    if (sum(stillRejected) > 0) lines.push(`${feed}: still cannot be read: ${listed(stillRejected)}`);
    if (superseded > 0)
      lines.push(`${feed}: ${count(superseded, 'record')} dropped: a newer version is already loaded`);
    if (rowsOfAnotherIdentity > 0)
      lines.push(
        `${feed}: ${count(rowsOfAnotherIdentity, 'row')} left alone: the aliases would change their identity (docs/operating.md, "Reading again")`,
      );
  }
  if (dryRun) lines.push('Nothing was changed (--dry-run).');
  if (met.some(({ outcome }) => outcome === 'interrupted'))
    lines.push('Interrupted; run it again for the rest.');
  return `${lines.join('\n').trimEnd()}\n`;
}

function sum(counts: Readonly<Record<string, number>>): number {
  return Object.values(counts).reduce((total, many) => total + many, 0);
}

function listed(counts: Readonly<Record<string, number>>): string {
  return Object.entries(counts)
    .sort(([, a], [, b]) => b - a)
    .map(([name, many]) => `${name} (${number(many)})`)
    .join(', ');
}
