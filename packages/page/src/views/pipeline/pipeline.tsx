import { rollups } from 'd3-array';
import { address } from '../../address.ts';
import { type Answering, useAnswer } from '../../api.ts';
import { completeTo } from '../../loader.ts';
import { number, share } from '../../numbers.ts';
import { Flowing, Problems, Section, useTitle } from '../../parts.tsx';
import { report } from '../../report.ts';
import type { Row } from '../../rows.ts';
import { Share } from '../../share.tsx';
import { moment } from '../../time.ts';
import { Causes } from '../causes.tsx';
import { Coverage } from './coverage.tsx';
import { Jobs, Loads, Running } from './jobs.tsx';

/** Shows how the jobs stand, what is wrong with the commands that cure it, what runs, what it costs, and what is loaded. */
export function Pipeline() {
  const asked = {
    jobs: useAnswer('jobs', {}, 5, 60),
    causes: useAnswer('causes', {}, 5, 60),
    checks: useAnswer('checks', {}),
    // Also every 15 seconds, because a killed load changes nothing in the warehouse.
    loads: useAnswer('loads', { limit: 50 }, 1, 15),
    requests: useAnswer('requests', {}),
    feeds: useAnswer('feeds', {}),
  };
  const { requests, checks } = asked;
  const jobs = asked.jobs.answer?.rows;
  const loads = asked.loads.answer?.rows ?? [];
  const feeds = asked.feeds.answer?.rows ?? [];
  useTitle(
    'Pipeline',
    ...['country', 'ticker', 'topic'].map((name) => address.value.getAll(name).join(', ')),
  );
  // What comes first would push down what is there already.
  if (Object.values(asked).some(({ isAsking }) => isAsking)) return <p class="quiet waiting">Asking …</p>;
  return (
    <>
      <Problems of={Object.values(asked)} />
      {jobs && (
        <p class="summary">
          <Flowing
            text={[summaryOf(jobs, loads), checks.answer && checkedOf(checks.answer.rows)].join(' ')}
          />
        </p>
      )}
      <Causes causes={asked.causes.answer?.rows ?? []} />
      <Running loads={loads} jobs={jobs ?? []} />
      <div class="sides">
        <Jobs jobs={jobs ?? []} />
        {jobs && <Budget {...{ jobs, requests }} />}
      </div>
      {feeds.length > 0 && <Coverage feeds={feeds} />}
      {loads.length > 0 && (
        <details open={report !== undefined}>
          <summary>Last loads: {number(loads.length)}</summary>
          <Section title="Last loads" beside={asked.loads.answer && <Share of={asked.loads.answer} />}>
            <Loads loads={loads} />
          </Section>
        </details>
      )}
    </>
  );
}

/** Says in one sentence how many jobs stand how, and when something was last loaded. */
function summaryOf(jobs: readonly Row<'jobs'>[], loads: readonly Row<'loads'>[]): string {
  if (jobs.length === 0) return 'There is no job yet: run npx gmsi init.';
  const counts = countsOf(jobs.map(({ state }) => state));
  const stand =
    jobs.length === 1 ? `${jobs[0]!.job}: ${counts.slice(2)}` : `${number(jobs.length)} jobs: ${counts}`;
  const [last] = loads.filter(({ state }) => state !== 'running');
  const day = completeTo(jobs);
  const parts = [
    stand,
    ...(day ? [`complete to ${day}`] : []),
    ...(last ? [`last load ${moment(last.ended_at)}`] : []),
  ];
  return `${parts.join('; ')}.`;
}

/** Counts what `gmsi check` found in its last run, by result; causes name what failed. */
function checkedOf(checks: readonly Row<'checks'>[]): string {
  const oldest = checks.map(({ checked_at }) => checked_at).toSorted()[0];
  const results = countsOf(checks.map(({ result }) => result));
  return oldest ? `Checks: ${results}, since ${moment(oldest)}.` : '';
}

/** Counts words: "2 good, 1 failing". */
function countsOf(words: readonly string[]): string {
  const counts = rollups(
    words,
    ({ length }) => length,
    (word) => word,
  );
  return counts.map(([word, count]) => `${number(count)} ${word}`).join(', ');
}

/** Says what each API key has used of the month's budget. Only the server's own key has a forecast. */
function Budget(props: { jobs: readonly Row<'jobs'>[]; requests: Answering<'requests'> }) {
  const { jobs, requests } = props;
  const rows = requests.answer?.rows;
  // The most that any job allows: causes name jobs that must stop earlier.
  const [most] = jobs
    .filter((job) => job.requests_per_month !== null)
    .toSorted((a, b) => b.requests_per_month! - a.requests_per_month!);
  const names = jobs.filter((job) => job.requests_per_month === most?.requests_per_month);
  const of = names.length > 3 ? `${number(names.length)} jobs` : names.map(({ job }) => job).join(', ');
  const isUnused = rows && most && most.requests_used !== null && !rows.some(({ is_own }) => is_own);
  return (
    <Section title="Requests this month" beside={requests.answer && <Share of={requests.answer} />}>
      {[...(isUnused ? [{ key: '', requests: 0, is_own: true }] : []), ...(rows ?? [])].map((one) => (
        <p key={one.key}>
          {!one.is_own && (
            <>
              Key <code>{one.key}</code>:{' '}
            </>
          )}
          <b>{number(one.requests)}</b> requests{' '}
          {most ? <Used job={most} {...{ of }} {...one} /> : 'used. No job sets a budget.'}
        </p>
      ))}
      {rows?.length === 0 && !isUnused && <p class="quiet">None yet.</p>}
    </Section>
  );
}

/** Compares the requests of a key with a budget. @param props.of the jobs that set it */
function Used(props: { job: Row<'jobs'>; of: string; requests: number; is_own: boolean }) {
  const { job, of, requests, is_own } = props;
  const { projected, spent_by, reserve } = job;
  const limit = job.requests_per_month!;
  const left = Math.max(0, limit - requests);
  return (
    <>
      used, limit {number(limit)} (the budget of {of}), {share(left, limit)} left
      {is_own && projected !== null && projected > requests && (
        <>
          ; about <b>{number(projected)}</b> by the end of the month, from what is scheduled
        </>
      )}
      {is_own && spent_by && (
        <strong class="bad">{left === 0 ? '; used up' : `; used up about ${moment(spent_by)}`}</strong>
      )}
      . <span class="quiet">{reserve ? `Backfills leave ${number(reserve)} for syncs.` : ''}</span>
    </>
  );
}
