import { spansOf } from '../../draw/states.ts';
import { number, share } from '../../numbers.ts';
import { Section, Swatch } from '../../parts.tsx';
import type { Row } from '../../rows.ts';
import { type Column, Table } from '../../table.tsx';
import { moment, span } from '../../time.ts';

type Job = Row<'jobs'>;

const swatches = {
  good: 'covered',
  working: 'running',
  behind: 'pending',
  failing: 'failed',
  stopped: 'failed',
} as const;

export function Jobs({ jobs }: { jobs: readonly Job[] }) {
  if (jobs.length === 0) return null;
  const isScheduled = jobs.some(({ next_run }) => next_run !== null);
  const shown = isScheduled ? [...columns, next] : columns;
  return (
    <Section title="Jobs">
      <Table label="Table of jobs" kind="small" rows={jobs} columns={shown} keyOf={({ job }) => job} />
    </Section>
  );
}

const columns: Column<Job>[] = [
  {
    title: 'job',
    kind: 'nowrap',
    show: ({ job, state, feed }) => (
      <span title={feed ?? ''}>
        <Swatch kind={swatches[state]} />
        {job}
      </span>
    ),
  },
  {
    title: 'state',
    show: ({ state, why }) => (
      <>
        {state}
        {why && <span class="quiet">: {why}</span>}
      </>
    ),
  },
  {
    title: 'series complete',
    kind: 'nowrap',
    show: ({ series, complete }) =>
      series === null ? 'not known' : `${number(complete ?? 0)} of ${number(series)}`,
  },
  {
    title: 'last 90 days',
    kind: 'nowrap',
    show: ({ job, recent }) => recent && <Strip {...{ job, recent }} />,
  },
  { title: 'to', kind: 'nowrap', by: ({ complete_to }) => complete_to },
  {
    title: 'days loaded',
    kind: 'nowrap',
    show: ({ covered, wanted }) =>
      covered !== null &&
      wanted !== null && (
        <span
          title={`${number(covered)} of ${number(wanted)} days of all series; recent days may still change`}
        >
          {share(covered, wanted)}
        </span>
      ),
  },
];

const next: Column<Job> = {
  title: 'next',
  kind: 'nowrap',
  show: ({ next_run, next_command }) => next_run && `${next_command} ${moment(next_run)}`,
};

/** Colours of the days of all series of a job together. */
const colours = { covered: 'covered', settling: 'settling', partial: 'refused', 'not loaded': 'never' };

function Strip({ job, recent }: { job: string; recent: string }) {
  const spans = spansOf<keyof typeof colours>(recent);
  return (
    <span class="strip" role="img" aria-label={`Last days of ${job}: ${recent}`} title={recent}>
      {spans.map(([state, days], place) => (
        <span key={place} style={{ flexGrow: days, background: `var(--${colours[state]})` }} />
      ))}
    </span>
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
    { title: 'job', by: ({ job }) => job },
    { title: 'command', show: ({ command, feed }) => <span title={feed}>{command}</span> },
    { title: 'began', kind: 'nowrap', show: ({ started_at }) => moment(started_at) },
    {
      title: 'took',
      kind: 'number',
      show: ({ started_at, ended_at }) => span((Date.parse(ended_at) - Date.parse(started_at)) / 1000),
    },
    { title: 'requests', kind: 'number', by: ({ requests }) => requests },
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
    { title: 'records', kind: 'number', by: ({ records }) => records },
    { title: 'new', kind: 'number', by: ({ rows_inserted }) => rows_inserted },
    { title: 'changed', kind: 'number', by: ({ rows_changed }) => rows_changed },
    { title: 'retracted', kind: 'number', by: ({ rows_retracted }) => rows_retracted },
    { title: 'rejected', kind: 'number', by: ({ records_rejected }) => records_rejected },
    { title: 'by', kind: 'nowrap', by: ({ run_by }) => run_by },
  ];
  return (
    <Table
      label="Loads"
      kind="small"
      rows={ended}
      first={5}
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
  const [covered, wanted] = [job?.covered ?? 0, job?.wanted ?? 0];
  const figures = [
    wanted > 0 && `${number(covered)} of ${number(wanted)} days loaded (${share(covered, wanted)})`,
    left > 0 && done > 0 && `about ${span((left / done) * seconds)} left`,
    `${number(windows_drained)}${planned} windows`,
    windows_failed > 0 && `${number(windows_failed)} failed`,
    `${number(records)} records, ${perMinute(records)}`,
    `${number(requests)} requests, ${perMinute(requests)}`,
    `for ${span(seconds)}`,
  ];
  return (
    <li class="problem marked running">
      <strong>{load.job || load.command}</strong>{' '}
      <span class="quiet">
        {load.command} of {load.feed}, since {moment(load.started_at)}, by {load.run_by}
      </span>
      <div class="row">
        {wanted > 0 && <progress value={covered} max={wanted} aria-label={`Loaded days of ${load.job}`} />}
        {figures.filter(Boolean).join(' · ')}
      </div>
    </li>
  );
}
