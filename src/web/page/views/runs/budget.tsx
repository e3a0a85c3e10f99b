import { useRef, useState } from 'preact/hooks';
import type { requestsByDay } from '../../../../warehouse/questions/runs.ts';
import type { JobShown } from '../../../jobs.ts';
import { address, go } from '../../address.ts';
import { useAnswer, useIsReport, type Wire } from '../../api.ts';
import { useWidth } from '../../draw/canvas.ts';
import { number, share } from '../../numbers.ts';
import { Answered, Source } from '../../parts.tsx';
import type { Row } from '../../rows.ts';
import { moment, today } from '../../time.ts';

/** The most requests in a month, as jobs set it. Jobs with the same limit share a line. */
interface Limit {
  readonly perMonth: number;
  readonly reserve: number;
  readonly jobs: readonly string[];
  /** When it will be spent, if that is before the month ends. */
  readonly spentBy: string | null;
}

function limitsOf(jobs: readonly Wire<JobShown>[]): Limit[] {
  const limits = new Map<string, Limit>();
  for (const { job, requests_per_month, reserve, spent_by } of jobs) {
    if (requests_per_month === null) continue;
    const key = `${requests_per_month}/${reserve}`;
    const { jobs: others = [] } = limits.get(key) ?? {};
    const perMonth = requests_per_month;
    limits.set(key, { perMonth, reserve: reserve ?? 0, jobs: [...others, job], spentBy: spent_by });
  }
  return [...limits.values()].toSorted((a, b) => b.perMonth - a.perMonth || a.reserve - b.reserve);
}

/** Returns the month `months` later. */
function plusMonths(month: string, months: number): string {
  const date = new Date(`${month}-01`);
  date.setUTCMonth(date.getUTCMonth() + months);
  return date.toISOString().slice(0, 7);
}

/** Shows the requests of a month by day, and their sum against the budget. */
export function Budget({ jobs }: { jobs: readonly Wire<JobShown>[] }) {
  const isReport = useIsReport();
  const now = today();
  const current = now.slice(0, 7);
  const asked = address.value.get('month');
  const month = asked && /^\d{4}-(0[1-9]|1[0-2])$/.test(asked) ? asked : current;
  const requests = useAnswer<Row<typeof requestsByDay>>('requests', { month });
  const isCurrent = month === current;
  return (
    <section class="budget" aria-labelledby="requests">
      <div class="row heading">
        <h2 id="requests">Requests in {month}</h2>
        {!isReport && (
          <button type="button" class="flat" onClick={() => go({ month: plusMonths(month, -1) })}>
            ← {plusMonths(month, -1)}
          </button>
        )}
        {!isReport && !isCurrent && (
          <button type="button" class="flat" onClick={() => go({ month: plusMonths(month, 1) })}>
            {plusMonths(month, 1)} →
          </button>
        )}
        <span class="grow" />
        <Source path="requests" parameters={{ month }} sql={requests.answer?.sql} />
      </div>
      <Answered asked={requests}>
        {({ rows }) => <Month month={month} upTo={isCurrent ? now : undefined} rows={rows} jobs={jobs} />}
      </Answered>
    </section>
  );
}

function Month({
  month,
  upTo,
  rows,
  jobs,
}: {
  month: string;
  /** Today, if it is in the month. */
  upTo: string | undefined;
  rows: readonly { readonly day: string; readonly requests: number }[];
  jobs: readonly Wire<JobShown>[];
}) {
  const days = new Date(Number(month.slice(0, 4)), Number(month.slice(5)), 0).getDate();
  const byDay = Array.from({ length: days }, (_, index) => {
    const day = `${month}-${String(index + 1).padStart(2, '0')}`;
    return rows.find((row) => row.day === day)?.requests ?? 0;
  });
  const total = byDay.reduce((sum, one) => sum + one, 0);
  const known = upTo === undefined ? days : Number(upTo.slice(8));
  const limits = limitsOf(jobs);
  const used =
    upTo === undefined ? null : (jobs.find((job) => job.requests_used !== null)?.requests_used ?? null);
  const spent = used ?? total;
  const planned = Math.max(0, ...jobs.map(({ projected }) => projected ?? 0));
  // The schedules say more about the rest of the month than its first days do.
  const forecast =
    upTo === undefined ? undefined : planned > 0 ? planned : Math.round((total / known) * days);
  return (
    <>
      <p>
        <b>{number(spent)}</b> requests
        {forecast !== undefined && (
          <>
            {' so far, about '}
            <b>{number(forecast)}</b> at the end of the month
            {planned > 0 ? ' by what is scheduled' : ' if it goes on like this'}
          </>
        )}
        .
      </p>
      <ul class="limits">
        {limits.map(({ perMonth, reserve, jobs, spentBy }) => (
          <li key={`${perMonth}/${reserve}`}>
            {spent >= perMonth ? 'all' : share(spent, perMonth)} of {number(perMonth)} for{' '}
            {jobs.length > 4 ? `${number(jobs.length)} jobs` : jobs.join(', ')}
            {reserve > 0 && `, of which ${number(reserve)} are kept for syncs`}
            {upTo !== undefined && spentBy && (
              <strong class="bad">{spent >= perMonth ? ', used up' : `, spent by ${moment(spentBy)}`}</strong>
            )}
          </li>
        ))}
      </ul>
      <Chart {...{ month, byDay, known, limits }} forecast={forecast} end={spent} />
      {used !== null && used !== total && (
        <p class="quiet">
          Bars count the requests of loads by the day on which they began: {number(total)}. The key has used{' '}
          {number(used)}, with those of other commands.
        </p>
      )}
    </>
  );
}

const plot = { top: 12, height: 150, bars: 56, between: 22, left: 4, right: 4 };

/** Draws the month's total, so far and expected, with its limits, and each day below. */
function Chart({
  month,
  byDay,
  known,
  limits,
  forecast,
  end,
}: {
  month: string;
  byDay: readonly number[];
  /** How many days of the month have begun. */
  known: number;
  limits: readonly Limit[];
  forecast: number | undefined;
  /** The requests so far, which may be more than the days' sum. */
  end: number;
}) {
  const box = useRef<HTMLDivElement>(null);
  // A report cannot measure.
  const width = useWidth(box, useIsReport() ? 640 : 0);
  const [hovered, setHovered] = useState<number>();
  const pitch = (width - plot.left - plot.right) / byDay.length;
  const total = byDay.reduce((sum, one) => sum + one, 0);
  const most = Math.max(1, end, forecast ?? 0, ...limits.map(({ perMonth }) => perMonth)) * 1.04;
  const mostOfDay = Math.max(1, ...byDay);
  const y = (requests: number) => plot.top + plot.height * (1 - requests / most);
  const x = (day: number) => plot.left + day * pitch;
  // Labels that would overlap each other or the axis are only in the list above.
  const labelled = limits
    .map(({ perMonth }) => perMonth)
    .filter((one, index, all) => y(0) - y(one) > 16 && (index === 0 || y(one) - y(all[index - 1]!) > 16));
  const base = plot.top + plot.height + plot.between + plot.bars;
  let sum = 0;
  const line = byDay.slice(0, known).map((one, index) => {
    sum += one;
    return `L${x(index + 1).toFixed(1)},${y(sum).toFixed(1)}`;
  });
  const path = `M${x(0)},${y(0)}${line.join('')}`;
  const dayOf = (index: number) => `${month}-${String(index + 1).padStart(2, '0')}`;
  const upTo = (index: number) => byDay.slice(0, index + 1).reduce((all, one) => all + one, 0);
  const told = hovered === undefined || hovered >= known ? undefined : hovered;
  const label = `${number(total)} requests in ${month}${limits[0] ? ` of ${number(limits[0].perMonth)}` : ''}${
    forecast === undefined ? '' : `, about ${number(forecast)} at its end`
  }`;
  return (
    <div class="month" ref={box}>
      {width > 0 && (
        <svg
          width={width}
          height={base + 18}
          viewBox={`0 0 ${width} ${base + 18}`}
          role="img"
          aria-label={label}
          onPointerMove={(event) => setHovered(Math.floor((event.offsetX - plot.left) / pitch))}
          onPointerLeave={() => setHovered(undefined)}
        >
          {limits.map(({ perMonth, reserve }) => (
            <g key={`${perMonth}/${reserve}`}>
              <line class="limit" x1={x(0)} x2={x(byDay.length)} y1={y(perMonth)} y2={y(perMonth)} />
              {reserve > 0 && (
                <rect
                  class="reserve"
                  x={x(0)}
                  width={x(byDay.length) - x(0)}
                  y={y(perMonth)}
                  height={Math.max(1, y(perMonth - reserve) - y(perMonth))}
                />
              )}
              {labelled.includes(perMonth) && (
                <text x={x(0)} y={y(perMonth) + 13}>
                  budget {number(perMonth)}
                  {reserve > 0 && `, of which ${number(reserve)} for syncs`}
                </text>
              )}
            </g>
          ))}
          <line class="axis" x1={x(0)} x2={x(byDay.length)} y1={y(0)} y2={y(0)} />
          <path class="area" d={`${path}L${x(known)},${y(0)}Z`} />
          <path class="total" d={path} />
          {forecast !== undefined && (
            <path class="forecast" d={`M${x(known)},${y(end)}L${x(byDay.length)},${y(forecast)}`} />
          )}
          <text x={x(0)} y={base - plot.bars - 5}>
            by day{total > 0 && `, at most ${number(mostOfDay)}`}
          </text>
          {byDay.map((one, index) => (
            <rect
              key={dayOf(index)}
              class={index === told ? 'day told' : 'day'}
              x={x(index) + 1}
              width={Math.max(1, pitch - 2)}
              y={base - Math.max(one > 0 ? 1 : 0, (one / mostOfDay) * plot.bars)}
              height={Math.max(one > 0 ? 1 : 0, (one / mostOfDay) * plot.bars)}
            />
          ))}
          <line class="axis" x1={x(0)} x2={x(byDay.length)} y1={base} y2={base} />
          {byDay.map(
            (_, index) =>
              (index === 0 || index % 5 === 4) && (
                <text key={dayOf(index)} class="tick" x={x(index) + pitch / 2} y={base + 13}>
                  {index + 1}
                </text>
              ),
          )}
        </svg>
      )}
      {told !== undefined && (
        <div
          class={`tip ${told > byDay.length / 2 ? 'before' : ''}`}
          style={{ left: `${x(told) + pitch}px` }}
        >
          <strong>{dayOf(told)}</strong>
          <br />
          {number(byDay[told]!)} requests, {number(upTo(told))} up to then
        </div>
      )}
      <details>
        <summary>As a table</summary>
        <table>
          <thead>
            <tr>
              <th>day</th>
              <th class="number">requests</th>
              <th class="number">up to then</th>
            </tr>
          </thead>
          <tbody>
            {byDay.slice(0, known).map((one, index) =>
              one === 0 ? null : (
                <tr key={dayOf(index)}>
                  <td>{dayOf(index)}</td>
                  <td class="number">{number(one)}</td>
                  <td class="number">{number(upTo(index))}</td>
                </tr>
              ),
            )}
          </tbody>
        </table>
      </details>
    </div>
  );
}
