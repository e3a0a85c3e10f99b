import { useRef } from 'preact/hooks';
import { number, share } from '../../numbers.ts';
import { Meter, Section } from '../../parts.tsx';
import type { Row } from '../../rows.ts';
import { moment, span } from '../../time.ts';

type Load = Row<'loads'>;

/** The totals of a load at a moment. */
type Tick = Pick<Load, 'requests' | 'records' | 'windows_drained'> & { readonly at: number };

/** How many ticks of a load are kept to compute its speed. */
const kept = 120;
/** Milliseconds that count as now. */
const recent = 60_000;

/** Notes the totals of loads whenever they change, while the view is open. */
function useTicks(loads: readonly Load[]): ReadonlyMap<number, readonly Tick[]> {
  const ticks = useRef(new Map<number, Tick[]>()).current;
  for (const { load_id, ended_at, requests, records, windows_drained } of loads) {
    const known = ticks.get(load_id) ?? [];
    const at = Date.parse(ended_at);
    if (at > (known.at(-1)?.at ?? 0)) known.push({ at, requests, records, windows_drained });
    ticks.set(load_id, known.slice(-kept));
  }
  return ticks;
}

/** Shows the loads that run now. */
export function Running({ loads, jobs }: { loads: readonly Load[]; jobs: readonly Row<'jobs'>[] }) {
  const running = loads.filter(({ state }) => state === 'running');
  const ticks = useTicks(running);
  if (running.length === 0) return null;
  return (
    <Section title="Running now">
      <ul class="stack loading">
        {running.map((load) => {
          const job = jobs.find((one) => one.job === load.job && one.feed === load.feed);
          return <One key={load.load_id} load={load} ticks={ticks.get(load.load_id) ?? []} job={job} />;
        })}
      </ul>
    </Section>
  );
}

function One({ load, ticks, job }: { load: Load; ticks: readonly Tick[]; job: Row<'jobs'> | undefined }) {
  const seconds = (Date.parse(load.ended_at) - Date.parse(load.started_at)) / 1000;
  const last = ticks.at(-1);
  const before = last && (ticks.find(({ at }) => at >= last.at - recent) ?? last);
  const perMinute = (of: 'requests' | 'records' | 'windows_drained') => {
    const [now, all] = [
      last && before && last.at > before.at
        ? ((last[of] - before[of]) / (last.at - before.at)) * 60_000
        : undefined,
      seconds >= 1 ? (load[of] / seconds) * 60 : undefined,
    ];
    return { now, all };
  };
  const left = minutesLeft(load, job, (of) => perMinute(of).now ?? perMinute(of).all ?? 0);
  return (
    <li>
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
            {left !== undefined && (
              <>
                , <b>about {span(left * 60)} left</b>
              </>
            )}
          </span>
        </div>
      ) : null}
      <dl class="row figures">
        <Figure title="windows done" value={load.windows_drained} of={load.windows_planned} />
        {load.windows_failed > 0 && <Figure title="windows failed" value={load.windows_failed} isBad />}
        <Figure title="records" value={load.records} rate={perMinute('records')} />
        <Figure title="requests" value={load.requests} rate={perMinute('requests')} />
        <div>
          <dt>running for</dt>
          <dd>{span(seconds)}</dd>
        </div>
        <Pace ticks={ticks} />
      </dl>
    </li>
  );
}

/**
 * Returns how long a load will still take, if that is known. Loads that share windows do not know how many they have planned;
 * the requests that their job still needs are the next best guess.
 */
function minutesLeft(
  { windows_planned, windows_drained, windows_failed }: Load,
  job: Row<'jobs'> | undefined,
  perMinute: (of: 'requests' | 'windows_drained') => number,
): number | undefined {
  const [left, speed] =
    windows_planned === null
      ? [job?.backfill_requests ?? 0, perMinute('requests')]
      : [windows_planned - windows_drained - windows_failed, perMinute('windows_drained')];
  return left > 0 && speed > 0 ? left / speed : undefined;
}

function Figure({
  title,
  value,
  of = null,
  rate,
  isBad,
}: {
  title: string;
  value: number;
  /** The total, if it is known. */
  of?: number | null;
  rate?: { readonly now: number | undefined; readonly all: number | undefined };
  isBad?: boolean;
}) {
  return (
    <div class={isBad ? 'bad' : undefined}>
      <dt>{title}</dt>
      <dd>
        {number(value)}
        {of !== null && <span class="quiet"> of {number(Math.max(of, value))}</span>}
      </dd>
      {rate?.all !== undefined && (
        <>
          <dd class="small">{number(Math.round(rate.now ?? rate.all))} a minute now</dd>
          <dd class="small quiet">{number(Math.round(rate.all))} since it began</dd>
        </>
      )}
    </div>
  );
}

/** Draws records per minute between each two ticks. */
function Pace({ ticks }: { ticks: readonly Tick[] }) {
  const rates = ticks.slice(1).map((tick, index) => {
    const before = ticks[index]!;
    return ((tick.records - before.records) / (tick.at - before.at)) * 60_000;
  });
  if (rates.length < 2) return null;
  const most = Math.max(1, ...rates);
  const [width, height] = [160, 32];
  const points = rates.map(
    (rate, index) =>
      `${((index / (rates.length - 1)) * width).toFixed(1)},${(height - (rate / most) * height).toFixed(1)}`,
  );
  return (
    <div class="pace">
      <dt>records a minute</dt>
      <dd>
        <svg
          viewBox={`0 -1 ${width} ${height + 2}`}
          width={width}
          height={height + 2}
          role="img"
          aria-label={`At most ${number(Math.round(most))} records a minute`}
        >
          <polyline points={points.join(' ')} />
        </svg>
      </dd>
    </div>
  );
}
