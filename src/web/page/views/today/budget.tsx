import type { Answering } from '../../api.ts';
import { number, share } from '../../numbers.ts';
import { Meter, Section, Source, Trouble } from '../../parts.tsx';
import type { Row } from '../../rows.ts';
import { moment } from '../../time.ts';

/** Returns the most requests in a month that any job allows for the server's key, and the jobs that stop earlier. */
function limitOf(jobs: readonly Row<'jobs'>[]) {
  const limited = jobs
    .filter((job) => job.requests_per_month !== null)
    .toSorted((a, b) => b.requests_per_month! - a.requests_per_month!);
  const most = limited[0];
  if (!most) return undefined;
  const isMost = (job: Row<'jobs'>) => job.requests_per_month === most.requests_per_month;
  return {
    perMonth: most.requests_per_month!,
    reserve: Math.max(...limited.filter(isMost).map(({ reserve }) => reserve ?? 0)),
    projected: most.projected,
    spentBy: most.spent_by,
    lower: limited.filter((job) => !isMost(job)),
  };
}

/** Shows the requests of the month for each API key: the server's own key against the budget of the jobs. */
export function Budget({
  jobs,
  requests,
  month,
}: {
  jobs: readonly Row<'jobs'>[];
  requests: Answering<'requests'>;
  month: string;
}) {
  const { answer, error } = requests;
  const own = answer?.rows.find(({ is_own }) => is_own);
  const others = answer?.rows.filter(({ is_own }) => !is_own) ?? [];
  const limit = limitOf(jobs);
  return (
    <Section title={`Requests in ${month}`} beside={<Source of={requests} />}>
      <Trouble error={error} what="requests" />
      {answer && limit && <Bullet limit={limit} used={own?.requests ?? 0} />}
      {own && !limit && (
        <p>
          <b>{number(own.requests)}</b> requests. No job sets a budget.
        </p>
      )}
      {others.map(({ key, requests }) => (
        <p key={key}>
          <b>{number(requests)}</b> requests with {own ? 'another' : 'the'} key <code>{key}</code>
        </p>
      ))}
      {answer?.rows.length === 0 && !limit && <p class="quiet">None yet.</p>}
    </Section>
  );
}

const line = { width: '2px', marginLeft: '-2px' };

/** Draws the requests of a key against a budget, with its reserve and the forecast. */
function Bullet({ limit, used }: { limit: NonNullable<ReturnType<typeof limitOf>>; used: number }) {
  const { perMonth, reserve, projected, spentBy, lower } = limit;
  const most = Math.max(perMonth, used, projected ?? 0, 1);
  const percent = (requests: number) => `${(100 * requests) / most}%`;
  const left = Math.max(0, perMonth - used);
  const isScheduled = projected !== null && projected > used;
  return (
    <>
      <Meter
        kind="bullet"
        label={`Requests used of ${number(perMonth)}`}
        now={used}
        all={perMonth}
        parts={[
          { background: 'var(--settling)', left: percent(perMonth - reserve), width: percent(reserve) },
          {
            background: `var(--${left > 0 ? 'covered' : 'failed'})`,
            ...{ top: '25%', height: '50%', minWidth: '1px', width: percent(used) },
          },
          isScheduled && { background: 'var(--accent)', ...line, left: percent(projected) },
          { background: 'var(--ink)', ...line, left: percent(perMonth) },
        ]}
      />
      <p>
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
          {lower.length > 0 &&
            `Lower limits: ${lower.map(({ job, requests_per_month }) => `${job} ${number(requests_per_month!)}`).join(', ')}.`}
        </span>
      </p>
    </>
  );
}
