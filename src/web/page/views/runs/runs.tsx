import type { lastLoads, livingWorkers, openAlerts } from '../../../../warehouse/questions/runs.ts';
import type { JobShown } from '../../../jobs.ts';
import { address } from '../../address.ts';
import { type Asked, useAnswer, type Wire } from '../../api.ts';
import { number, share } from '../../numbers.ts';
import { Answered, Scroll, Source, Trouble } from '../../parts.tsx';
import type { Row } from '../../rows.ts';
import { moment, span } from '../../time.ts';
import { Budget, useRequests } from './budget.tsx';
import { Checks } from './checks.tsx';
import { Loads } from './loads.tsx';
import { Bar, Running } from './running.tsx';
import '../shared.css';
import { Copied, quoted } from '../commands.tsx';
import './runs.css';

/** Shows what runs, what ran, and the month's requests. */
export function Runs() {
  const limit = Math.min(500, Number(address.value.get('loads')) || 50);
  // Also every 15 seconds, because a killed load changes nothing in the warehouse.
  const loads = useAnswer<Row<typeof lastLoads>>('loads', { limit }, 1, 15);
  const jobs = useAnswer<JobShown>('jobs', {}, 5, 60);
  const requests = useRequests();
  const workers = useAnswer<Row<typeof livingWorkers>>('workers', {}, 5, 30);
  const known = jobs.answer?.rows ?? [];
  return (
    <div class="runs">
      <h1>Runs</h1>
      <Alerts />
      <Answered asked={loads}>
        {({ rows, sql }) => (
          <>
            <div class="halves">
              <section aria-labelledby="now">
                <h2 id="now">Running now</h2>
                {rows.length > 0 ? <Running loads={rows} jobs={known} /> : <NothingYet jobs={known} />}
                <Workers workers={workers} />
                <Jobs jobs={jobs} workers={workers} />
              </section>
              <Budget jobs={known} requests={requests} />
            </div>
            <Checks jobs={known} />
            {rows.length > 0 && (
              <>
                <div class="row heading">
                  <h2>Last loads</h2>
                  <span class="grow" />
                  <Source path="loads" parameters={{ limit }} sql={sql} />
                </div>
                <Loads loads={rows} limit={limit} />
              </>
            )}
          </>
        )}
      </Answered>
    </div>
  );
}

function NothingYet({ jobs }: { jobs: readonly Wire<JobShown>[] }) {
  const job = jobs.find(({ problem }) => problem === null)?.job;
  return (
    <>
      <p>Nothing has been loaded yet. A load can be watched here:</p>
      <Copied text={`npx gmsi backfill ${job === undefined ? '<job>' : quoted(job)}`} />
      {job === undefined && (
        <p class="quiet">
          <code>npx gmsi init</code> makes a job.
        </p>
      )}
    </>
  );
}

function Alerts() {
  const { answer, error } = useAnswer<Row<typeof openAlerts>>('alerts', {});
  return (
    <>
      <Trouble error={error} what="alerts" />
      {answer && answer.rows.length > 0 && (
        <ul class="alerts" aria-label="Open alerts">
          {answer.rows.map(({ kind, job, message, raised_at }) => (
            <li key={`${kind} ${job}`}>
              <strong>{job}</strong> {message}{' '}
              <span class="quiet">
                {kind}, since {moment(raised_at)}
              </span>
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

type WorkersAsked = Asked<Row<typeof livingWorkers>>;

function Workers({ workers: { answer, error } }: { workers: WorkersAsked }) {
  if (!answer) return <Trouble error={error} what="workers" />;
  if (answer.rows.length === 0)
    return (
      <p class="quiet">
        No worker is running. <code>npx gmsi work</code> runs what is scheduled.
      </p>
    );
  return (
    <p>
      {number(answer.rows.length)} {answer.rows.length === 1 ? 'worker' : 'workers'}:{' '}
      <span class="quiet">
        {answer.rows
          .map(
            ({ run_by, concurrency, started_at }) =>
              `${run_by} (${number(concurrency)} at once, since ${moment(started_at)})`,
          )
          .join(' · ')}
      </span>
    </p>
  );
}

/** Shows how far each job is, and its next run. */
function Jobs({ jobs: { answer, error }, workers }: { jobs: Asked<JobShown>; workers: WorkersAsked }) {
  const isWorked = workers.answer?.rows.length !== 0;
  if (!answer || answer.rows.length === 0) return <Trouble error={error} what="jobs" />;
  return (
    <>
      <h2>Jobs</h2>
      <Scroll label="Jobs">
        <table class="jobs">
          <thead>
            <tr>
              <th>job</th>
              <th>feed</th>
              <th>covered</th>
              <th class="number" title="Since the newest covered day ended, of the series furthest behind">
                behind
              </th>
              <th>next</th>
            </tr>
          </thead>
          <tbody>
            {answer.rows.map((job) => (
              <Job key={job.job} job={job} isWorked={isWorked} />
            ))}
          </tbody>
        </table>
      </Scroll>
    </>
  );
}

function Job({
  job: { job, feed, covered, wanted, series, lag_seconds, next_run, next_command, problem },
  isWorked,
}: {
  job: Wire<JobShown>;
  /** False if no worker runs what is scheduled. */
  isWorked: boolean;
}) {
  if (problem !== null)
    return (
      <tr>
        <td>{job}</td>
        <td colSpan={4} class="bad">
          {problem}
        </td>
      </tr>
    );
  return (
    <tr>
      <td>{job}</td>
      <td>{feed}</td>
      <td class="nowrap">
        {covered !== null && wanted !== null ? (
          <span
            class="row"
            title={`${number(covered)} of ${number(wanted)} days of ${number(series ?? 0)} series`}
          >
            <Bar part={covered} all={wanted} label={`Covered days of ${job}`} />
            {share(covered, wanted)}
          </span>
        ) : (
          <span class="quiet">not known</span>
        )}
      </td>
      <td class="number nowrap">{lag_seconds ? span(lag_seconds) : <span class="quiet">–</span>}</td>
      <td class="nowrap">
        {next_run === null ? (
          <span class="quiet">not scheduled</span>
        ) : isWorked ? (
          `${next_command} ${moment(next_run)}`
        ) : (
          <span class="bad">none: no worker</span>
        )}
      </td>
    </tr>
  );
}
