import type { requestsByKey } from '../../../../warehouse/questions/runs.ts';
import type { JobShown } from '../../../jobs.ts';
import { type Asked, useAnswer, type Wire } from '../../api.ts';
import { number, share } from '../../numbers.ts';
import { Source, Trouble } from '../../parts.tsx';
import type { Row } from '../../rows.ts';
import { moment, today } from '../../time.ts';

/** The most requests in a month, as jobs set it. Jobs with the same limit share a bar. */
export interface Limit {
  readonly perMonth: number;
  readonly reserve: number;
  readonly jobs: readonly string[];
  /** The total at the end of the month, if something is scheduled. */
  readonly projected: number | null;
  /** When the limit will be reached, if that is before the month ends. */
  readonly spentBy: string | null;
}

export function limitsOf(jobs: readonly Wire<JobShown>[]): Limit[] {
  const limits = new Map<string, Limit>();
  for (const { job, requests_per_month: perMonth, reserve, spent_by, projected } of jobs) {
    if (perMonth === null) continue;
    const key = `${perMonth}/${reserve}`;
    const others = limits.get(key)?.jobs ?? [];
    limits.set(key, {
      perMonth,
      reserve: reserve ?? 0,
      jobs: [...others, job],
      projected,
      spentBy: spent_by,
    });
  }
  return [...limits.values()].toSorted((a, b) => b.perMonth - a.perMonth || a.reserve - b.reserve);
}

export type Requests = Asked<Row<typeof requestsByKey>>;

export function useRequests(): Requests {
  return useAnswer<Row<typeof requestsByKey>>('requests', { month: today().slice(0, 7) });
}

/** Shows the requests of the month for each API key: the server's own key against the budget of the jobs. */
export function Budget({ jobs, requests }: { jobs: readonly Wire<JobShown>[]; requests: Requests }) {
  const month = today().slice(0, 7);
  const { answer, error } = requests;
  const others = answer?.rows.filter(({ is_own }) => !is_own) ?? [];
  const used = answer?.rows.find(({ is_own }) => is_own)?.requests ?? 0;
  const limits = limitsOf(jobs);
  return (
    <section aria-labelledby="requests">
      <div class="row heading">
        <h2 id="requests">Requests in {month}</h2>
        <span class="grow" />
        <Source path="requests" parameters={{ month }} sql={answer?.sql} />
      </div>
      <Trouble error={error} what="requests" />
      {answer && limits.length === 0 && answer.rows.some(({ is_own }) => is_own) && (
        <p>
          <b>{number(used)}</b> requests. No job sets a budget.
        </p>
      )}
      {answer && limits.map((limit) => <Bullet key={limit.jobs[0]} limit={limit} used={used} />)}
      {others.map(({ key, requests }) => (
        <p key={key}>
          <b>{number(requests)}</b> requests with {others.length === answer?.rows.length ? 'the' : 'another'}{' '}
          key <code>{key}</code>
        </p>
      ))}
      {answer?.rows.length === 0 && limits.length === 0 && <p class="quiet">None yet.</p>}
    </section>
  );
}

/** Draws the requests of a key against a budget, with its reserve and the forecast. */
function Bullet({ limit, used }: { limit: Limit; used: number }) {
  const { perMonth, reserve, jobs, projected, spentBy } = limit;
  const most = Math.max(perMonth, used, projected ?? 0, 1);
  const percent = (requests: number) => `${(100 * requests) / most}%`;
  const left = Math.max(0, perMonth - used);
  const isScheduled = projected !== null && projected > used;
  return (
    <div class="bullet">
      {/* biome-ignore lint/a11y/useSemanticElements: each browser draws a meter differently */}
      <div
        class="track"
        role="meter"
        aria-label={`Requests used of ${number(perMonth)}`}
        aria-valuemin={0}
        aria-valuemax={perMonth}
        aria-valuenow={Math.min(used, perMonth)}
      >
        <span class="reserve" style={{ left: percent(perMonth - reserve), width: percent(reserve) }} />
        <span class={left > 0 ? 'used' : 'used spent'} style={{ width: percent(used) }} />
        {isScheduled && <span class="forecast" style={{ left: percent(projected) }} />}
        <span class="limit" style={{ left: percent(perMonth) }} />
      </div>
      <p class="said">
        <b>{number(used)}</b> of {number(perMonth)} requests used, {share(left, perMonth)} left
        {isScheduled && (
          <>
            ; about <b>{number(projected)}</b> by the end of the month, from what is scheduled
          </>
        )}
        {spentBy && (
          <strong class="bad">{left === 0 ? '; used up' : `; used up about ${moment(spentBy)}`}</strong>
        )}
        .{' '}
        <span class="quiet">
          {reserve > 0 && `Backfills leave ${number(reserve)} for syncs. `}
          Budget of {jobs.length > 4 ? `${number(jobs.length)} jobs` : jobs.join(', ')}.
        </span>
      </p>
    </div>
  );
}
