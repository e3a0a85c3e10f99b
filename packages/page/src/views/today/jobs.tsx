import { counted, number, share } from '../../numbers.ts';
import { Meter, Section, Swatch } from '../../parts.tsx';
import type { Row } from '../../rows.ts';
import { type Column, Table } from '../../table.tsx';
import { moment, span } from '../../time.ts';
import { hasAllDays, isNeverLoaded, isSpent } from '../causes.tsx';
import { Copied, costOf, free, quoted } from '../commands.tsx';

type Job = Row<'jobs'>;

/** Shows how far each job is: those in trouble first, those that were never loaded folded away. */
export function Jobs(props: { jobs: readonly Job[]; loads: readonly Row<'loads'>[] }) {
  const { jobs, loads } = props;
  const usable = jobs.filter(({ problem }) => problem === null);
  if (usable.length === 0) return null;
  const loaded = usable.filter((job) => !isNeverLoaded(job));
  const never = usable.filter(isNeverLoaded);
  const isRunning = (name: string) => loads.some(({ job, state }) => job === name && state === 'running');
  const placeOf = (job: Job) => order.indexOf(stateOf(job, isRunning));
  return (
    <Section title="Jobs">
      {loaded.length > 0 && (
        <Table
          label="Table of jobs"
          kind="small"
          rows={loaded.toSorted((a, b) => placeOf(a) - placeOf(b))}
          columns={columnsOf(isRunning)}
          keyOf={({ job }) => job}
          detail={(job) =>
            // The banner proposes how to retry what failed or was refused.
            !job.is_complete &&
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

/** The states of jobs, those in trouble first. */
const order = ['failed', 'running', 'pending', 'refused', 'covered'];

function stateOf(job: Job, isRunning: (job: string) => boolean): string {
  if ((job.failed ?? 0) > 0) return 'failed';
  if (isRunning(job.job)) return 'running';
  if (job.is_complete) return 'covered';
  return hasAllDays(job) && (job.refused ?? 0) > 0 ? 'refused' : 'pending';
}

function columnsOf(isRunning: (job: string) => boolean): Column<Job>[] {
  const columns: Column<Job>[] = [
    {
      title: 'job',
      show: (job) => (
        <span title={job.feed ?? ''}>
          <Swatch kind={stateOf(job, isRunning)} />
          {job.job}
        </span>
      ),
    },
    {
      title: 'series complete',
      show: ({ series, complete }) =>
        series === null ? (
          <span class="quiet">not known</span>
        ) : (
          `${number(complete ?? 0)} of ${number(series)}`
        ),
    },
    { title: 'to', show: ({ complete_to }) => complete_to ?? <span class="quiet">–</span> },
    {
      title: 'days loaded',
      show: (job) =>
        hasAllDays(job) ? (
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
    {
      title: 'next',
      show: ({ next_run, next_command, scheduled, workers }) =>
        next_run !== null ? (
          `${next_command} ${moment(next_run)}`
        ) : scheduled && workers === 0 ? (
          <span class="bad">none: no worker</span>
        ) : (
          <span class="quiet">not scheduled</span>
        ),
    },
  ];
  return columns.map((column) => ({ ...column, kind: 'nowrap' }));
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

type Load = Row<'loads'>;

const outcomes: Readonly<Record<string, readonly [state: string, meaning: string]>> = {
  done: ['covered', 'Everything requested is loaded.'],
  incomplete: ['refused', 'Some windows failed or were refused.'],
  budget: ['pending', 'Stopped at the request budget.'],
  interrupted: ['pending', 'Stopped by a signal.'],
  failed: ['failed', 'An error ended it that a retry does not fix.'],
  killed: ['failed', 'It stopped without an outcome, probably killed.'],
  running: ['running', 'It runs.'],
};

/** A count, pale if it is zero. */
function count(title: string, of: (load: Load) => number): Column<Load> {
  return {
    title,
    kind: 'number',
    show: (load) => <span class={of(load) === 0 ? 'quiet' : undefined}>{number(of(load))}</span>,
  };
}

export function Loads({ loads }: { loads: readonly Load[] }) {
  const ended = loads.filter(({ state }) => state !== 'running');
  if (ended.length === 0) return <p class="quiet">No load has ended yet.</p>;
  const columns: Column<Load>[] = [
    {
      title: 'outcome',
      kind: 'nowrap',
      show: ({ state }) => {
        const [kind, meaning] = outcomes[state] ?? ['never', ''];
        return (
          <span title={meaning}>
            <Swatch kind={kind} />
            {state}
          </span>
        );
      },
    },
    { title: 'job', show: ({ job }) => job },
    { title: 'command', show: ({ command, feed }) => <span title={feed}>{command}</span> },
    { title: 'began', kind: 'nowrap', show: ({ started_at }) => moment(started_at) },
    {
      title: 'took',
      kind: 'number',
      show: ({ started_at, ended_at }) => span((Date.parse(ended_at) - Date.parse(started_at)) / 1000),
    },
    count('requests', (load) => load.requests),
    {
      title: 'windows',
      kind: 'number',
      show: ({ windows_drained, windows_failed }) => (
        <>
          {number(windows_drained)}
          {windows_failed > 0 && <span class="bad">, {number(windows_failed)} failed</span>}
        </>
      ),
    },
    count('records', (load) => load.records),
    count('new', (load) => load.rows_inserted),
    count('changed', (load) => load.rows_changed),
    count('retracted', (load) => load.rows_retracted),
    count('rejected', (load) => load.records_rejected),
    { title: 'by', kind: 'nowrap', show: ({ run_by }) => <span class="quiet">{run_by}</span> },
  ];
  return (
    <Table
      label="Loads"
      kind="small"
      rows={ended}
      columns={columns}
      keyOf={({ load_id }) => load_id}
      detail={({ error }) => error && <div class="anywhere bad">{error}</div>}
    />
  );
}

export function Running({ loads, jobs }: { loads: readonly Load[]; jobs: readonly Job[] }) {
  const running = loads.filter(({ state }) => state === 'running');
  if (running.length === 0) return null;
  return (
    <Section title="Running now">
      <ul class="stack">
        {running.map((load) => (
          <One
            key={load.load_id}
            load={load}
            job={jobs.find((one) => one.job === load.job && one.feed === load.feed)}
          />
        ))}
      </ul>
    </Section>
  );
}

function One({ load, job }: { load: Load; job: Job | undefined }) {
  const { windows_planned, windows_drained, windows_failed, records, requests } = load;
  const seconds = Math.max(1, (Date.parse(load.ended_at) - Date.parse(load.started_at)) / 1000);
  const perMinute = (count: number) => `${number(Math.round((count / seconds) * 60))} a minute`;
  // Loads that share windows do not know how many they have planned: the requests that their job still needs are a guess.
  const [done, left] =
    windows_planned === null
      ? [requests, job?.backfill_requests ?? 0]
      : [windows_drained, windows_planned - windows_drained - windows_failed];
  const planned = windows_planned === null ? '' : ` of ${number(Math.max(windows_planned, windows_drained))}`;
  const figures: readonly (readonly [title: string, value: string, rate?: string])[] = [
    ['windows done', number(windows_drained) + planned],
    ...(windows_failed > 0 ? [['windows failed', number(windows_failed)] as const] : []),
    ['records', number(records), perMinute(records)],
    ['requests', number(requests), perMinute(requests)],
    ['running for', span(seconds)],
  ];
  return (
    <li class="problem marked running">
      <div class="row">
        <strong>{load.job || load.command}</strong>
        <span class="quiet">
          {load.command} of {load.feed}, since {moment(load.started_at)}, by {load.run_by}
        </span>
      </div>
      {job?.wanted ? (
        <div class="row apart">
          <Meter now={job.covered ?? 0} all={job.wanted} label={`Loaded days of ${job.job}`} />
          <span>
            {number(job.covered ?? 0)} of {number(job.wanted)} days loaded (
            {share(job.covered ?? 0, job.wanted)})
            {left > 0 && done > 0 && (
              <>
                , <b>about {span((left / done) * seconds)} left</b>
              </>
            )}
          </span>
        </div>
      ) : null}
      <dl class="row figures">
        {figures.map(([title, value, rate]) => (
          <div key={title} class={title === 'windows failed' ? 'bad' : undefined}>
            <dt class="quiet small">{title}</dt>
            <dd>{value}</dd>
            {rate && <dd class="quiet small">{rate}</dd>}
          </div>
        ))}
      </dl>
    </li>
  );
}
