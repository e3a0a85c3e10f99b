import { number, share } from '../../numbers.ts';
import { Scroll } from '../../parts.tsx';
import type { Row } from '../../rows.ts';
import { moment } from '../../time.ts';
import { Copied, costOf, free, quoted } from '../commands.tsx';
import { isComplete, isNeverLoaded, isSpent } from './known.ts';
import { Bar } from './running.tsx';

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
    <section aria-labelledby="jobs">
      <h2 id="jobs">Jobs</h2>
      {loaded.length > 0 && (
        <Scroll label="Table of jobs">
          <table class="jobs">
            <thead>
              <tr>
                <th>job</th>
                <th>series complete</th>
                <th>to</th>
                <th>days loaded</th>
                <th>next</th>
              </tr>
            </thead>
            {loaded
              .toSorted((a, b) => trouble(b) - trouble(a))
              .map((job) => (
                <One key={job.job} job={job} isRunning={isRunning(job.job)} hasWorkers={hasWorkers} />
              ))}
          </table>
        </Scroll>
      )}
      {never.length > 0 && <Never jobs={never} />}
    </section>
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

function One({ job, isRunning, hasWorkers }: { job: Job; isRunning: boolean; hasWorkers: boolean }) {
  const { series, complete, complete_to, covered, wanted, failed, refused, backfill_requests } = job;
  const isDone = isComplete(job);
  // The banner proposes how to retry what failed or was refused.
  const isProposed = !isDone && !isRunning && failed === 0 && refused === 0 && !isSpent(job);
  return (
    <tbody>
      <tr class={isProposed ? 'with-command' : undefined}>
        <td class="nowrap" title={job.feed ?? ''}>
          <i class={`swatch ${stateOf(job, isRunning)}`} />
          {job.job}
        </td>
        <td class="nowrap">
          {series === null ? (
            <span class="quiet">not known</span>
          ) : (
            `${number(complete ?? 0)} of ${number(series)}`
          )}
          {failed ? <div class="bad">{number(failed)} windows failed</div> : null}
          {refused ? <div>{number(refused)} windows refused</div> : null}
        </td>
        <td class="nowrap">{complete_to ?? <span class="quiet">–</span>}</td>
        <td class="nowrap">
          {isDone ? (
            <span class="quiet" title="Recent days may still change; the next run loads them again.">
              all
            </span>
          ) : (
            covered !== null &&
            wanted !== null && (
              <span class="row" title={`${number(covered)} of ${number(wanted)} days of all series`}>
                <Bar part={covered} all={wanted} label={`Loaded days of ${job.job}`} />
                {share(covered, wanted)}
              </span>
            )
          )}
        </td>
        <td class="nowrap">
          <Next job={job} hasWorkers={hasWorkers} />
        </td>
      </tr>
      {isProposed && (
        <tr>
          <td colSpan={5}>
            <Copied text={`npx gmsi backfill ${quoted(job.job)}`} cost={costOf(backfill_requests)} />
          </td>
        </tr>
      )}
    </tbody>
  );
}

function Next({ job: { next_run, next_command }, hasWorkers }: { job: Job; hasWorkers: boolean }) {
  if (next_run === null) return <span class="quiet">not scheduled</span>;
  if (!hasWorkers) return <span class="bad">none: no worker</span>;
  return `${next_command} ${moment(next_run)}`;
}

function Never({ jobs }: { jobs: readonly Job[] }) {
  return (
    <details>
      <summary>
        {number(jobs.length)} {jobs.length === 1 ? 'job was' : 'jobs were'} never loaded
      </summary>
      <ul>
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
