import { counted, number, share } from '../../numbers.ts';
import { Meter, Section, Swatch } from '../../parts.tsx';
import type { Row } from '../../rows.ts';
import { type Column, Table } from '../../table.tsx';
import { moment } from '../../time.ts';
import { Copied, costOf, free, quoted } from '../commands.tsx';
import { isComplete, isNeverLoaded, isSpent } from './known.ts';

type Job = Row<'jobs'>;

/** Shows how far each job is: those in trouble first, those that were never loaded folded away. */
export function Jobs({
  jobs,
  loads,
  hasWorkers,
}: {
  jobs: readonly Job[];
  loads: readonly Row<'loads'>[];
  /** False if nothing runs what is scheduled. */
  hasWorkers: boolean;
}) {
  const usable = jobs.filter(({ problem }) => problem === null);
  if (usable.length === 0) return null;
  const loaded = usable.filter((job) => !isNeverLoaded(job));
  const never = usable.filter(isNeverLoaded);
  const isRunning = (name: string) => loads.some(({ job, state }) => job === name && state === 'running');
  return (
    <Section title="Jobs">
      {loaded.length > 0 && (
        <Table
          label="Table of jobs"
          kind="small"
          rows={loaded.toSorted((a, b) => trouble(b) - trouble(a))}
          columns={columnsOf(isRunning, hasWorkers)}
          keyOf={({ job }) => job}
          detail={(job) =>
            // The banner proposes how to retry what failed or was refused.
            !isComplete(job) &&
            !isRunning(job.job) &&
            job.failed === 0 &&
            job.refused === 0 &&
            !isSpent(job) && (
              <Copied text={`npx gmsi backfill ${quoted(job.job)}`} cost={costOf(job.backfill_requests)} />
            )
          }
        />
      )}
      {never.length > 0 && <Never jobs={never} />}
    </Section>
  );
}

function trouble(job: Job): number {
  if ((job.failed ?? 0) > 0) return 3;
  if (!isComplete(job)) return 2;
  return (job.refused ?? 0) > 0 ? 1 : 0;
}

function stateOf(job: Job, isRunning: boolean): string {
  if ((job.failed ?? 0) > 0) return 'failed';
  if (isRunning) return 'running';
  if ((job.refused ?? 0) > 0) return 'refused';
  return isComplete(job) ? 'covered' : 'pending';
}

function columnsOf(isRunning: (job: string) => boolean, hasWorkers: boolean): Column<Job>[] {
  const columns: Column<Job>[] = [
    {
      title: 'job',
      show: (job) => (
        <span title={job.feed ?? ''}>
          <Swatch kind={stateOf(job, isRunning(job.job))} />
          {job.job}
        </span>
      ),
    },
    {
      title: 'series complete',
      show: ({ series, complete, failed, refused }) => (
        <>
          {series === null ? (
            <span class="quiet">not known</span>
          ) : (
            `${number(complete ?? 0)} of ${number(series)}`
          )}
          {failed ? <div class="bad">{number(failed)} windows failed</div> : null}
          {refused ? <div>{number(refused)} windows refused</div> : null}
        </>
      ),
    },
    { title: 'to', show: ({ complete_to }) => complete_to ?? <span class="quiet">–</span> },
    {
      title: 'days loaded',
      show: (job) =>
        isComplete(job) ? (
          <span class="quiet" title="Recent days may still change; the next run loads them again.">
            all
          </span>
        ) : (
          job.covered !== null &&
          job.wanted !== null && (
            <span title={`${number(job.covered)} of ${number(job.wanted)} days of all series`}>
              <Meter now={job.covered} all={job.wanted} label={`Loaded days of ${job.job}`} />
              {share(job.covered, job.wanted)}
            </span>
          )
        ),
    },
    { title: 'next', show: (job) => <Next job={job} hasWorkers={hasWorkers} /> },
  ];
  return columns.map((column) => ({ ...column, kind: 'nowrap' }));
}

function Next({ job: { next_run, next_command }, hasWorkers }: { job: Job; hasWorkers: boolean }) {
  if (next_run === null) return <span class="quiet">not scheduled</span>;
  if (!hasWorkers) return <span class="bad">none: no worker</span>;
  return `${next_command} ${moment(next_run)}`;
}

function Never({ jobs }: { jobs: readonly Job[] }) {
  return (
    <details>
      <summary>{counted(jobs.length, 'job was', 'jobs were')} never loaded</summary>
      <ul class="stack apart">
        {jobs.map(({ job, series }) => (
          <li key={job}>
            <b>{job}</b>
            {series !== null && <span class="quiet"> {number(series)} series</span>}
            <Copied text={`npx gmsi plan ${quoted(job)}`} cost={free} />
          </li>
        ))}
      </ul>
    </details>
  );
}
