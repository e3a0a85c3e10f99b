import { cureOf, sayCure } from '../answer/cures.ts';
import { openWarehouse, type Session, today } from '../compose.ts';
import { typedJob } from '../config/find-job-file.ts';
import type { Job } from '../config/job.ts';
import { feedNamed } from '../feeds/catalog.ts';
import { withLearnedReading } from '../load/resolve-load.ts';
import { plannedDays, wantedDays } from '../plan/days.ts';
import { missingLists, scopeOf } from '../plan/scope.ts';
import { type UncoveredDays, uncoveredDays } from '../questions/status.ts';
import { printResult } from '../terminal/print.ts';
import { asTyped, count, daysFrom, sayingAsTyped, tableOf } from '../terminal/table.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import { readLookups } from '../warehouse/tables/lookups.ts';

/** `gmsi status --days [<job>…]`: shows every range of days that is missing, why, and what loads it; sends no request. */
export async function showDays(session: Session, jobs: readonly Job[]): Promise<undefined> {
  await using warehouse = await openWarehouse(session);
  const reports: Awaited<ReturnType<typeof missingDays>>[] = [];
  for (const job of jobs) reports.push(await missingDays(session, warehouse.db, job));
  const text = () => `${reports.map(describe).join('\n\n') || 'There is no job.'}\n`;
  printResult(session, { jobs: reports }, text);
}

/** Returns the series and days of a job that a load would request; `undefined` if its series are not known yet. */
export async function plannedScope(session: Session, db: Warehouse, job: Job) {
  const lookups = await readLookups(db);
  if (missingLists(feedNamed(job.feed), lookups).length > 0) return undefined;
  const { job: inForce } = await withLearnedReading(db, job);
  const { days = wantedDays(job, today(session))!, historyLimit } = plannedDays(inForce, today(session));
  return { scope: scopeOf(inForce, days, lookups), historyLimit };
}

function unknownSeries(job: string): string {
  return `Job ${job}: its series are not known yet. Run ${asTyped('lookups')}, or the job.`;
}

/** Returns the missing days of a job; `null` if its series are not known yet. */
async function missingDays(session: Session, db: Warehouse, job: Job) {
  const { name, path } = job;
  const { scope } = (await plannedScope(session, db, job)) ?? {};
  if (!scope) return { job: name, period: null, missing: null };
  const missing = (await uncoveredDays(db, scope)).map((one) => ({
    ...one,
    command: sayingAsTyped(cureFor(one, typedJob(path))),
  }));
  return { job: name, period: { from: scope.from, to: scope.to }, missing };
}

function cureFor({ state, cause }: UncoveredDays, job: string): string {
  return state === 'settling' ? `gmsi sync ${job}` : sayCure(cureOf(cause, job));
}

const reasons = {
  pending: 'planned, not begun',
  draining: 'half loaded',
  failed: 'failed',
  refused: 'refused',
  settling: 'may still change; each sync loads them again',
  'not loaded': 'never requested',
};

function describe({ job, period, missing }: Awaited<ReturnType<typeof missingDays>>): string {
  if (!period) return unknownSeries(job);
  const title = `Job ${job}, ${daysFrom(period.from, period.to)}`;
  if (missing.length === 0) return `${title}: every day is covered`;
  const shown = tableOf(
    missing,
    {
      series: ({ country, topic, ticker, variant }) =>
        [country, topic, ticker, variant].filter(Boolean).join(' ') || job,
      'missing from': 'from',
      to: 'to',
      days: 'days',
      because: ({ state, says }) => (says === null ? reasons[state] : `${reasons[state]}: ${says}`),
      'to load them': 'command',
    },
    { least: ['days'] },
  );
  return `${title}: ${count(missing.length, 'range')} missing (also in gmsi.coverage_gaps)\n${shown}`;
}
