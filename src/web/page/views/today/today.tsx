import { address } from '../../address.ts';
import { useAnswer } from '../../api.ts';
import { counted, number } from '../../numbers.ts';
import { Answered, Section, Source, Trouble, useTitle } from '../../parts.tsx';
import type { Row } from '../../rows.ts';
import { moment, today } from '../../time.ts';
import { Copied, costOf, free, quoted } from '../commands.tsx';
import { Banner } from './banner.tsx';
import { Budget } from './budget.tsx';
import { causesOf } from './causes.ts';
import { Checks } from './checks.tsx';
import { Jobs } from './jobs.tsx';
import type { Known } from './known.ts';
import { Loads } from './loads.tsx';
import { Running } from './running.tsx';
import { summaryOf } from './summary.ts';

/** Shows whether all is loaded, what is wrong with the commands that cure it, what runs, and the month's requests. */
export function Today() {
  const limit = Math.min(500, Number(address.value.get('loads')) || 50);
  const month = today().slice(0, 7);
  const others = {
    jobs: useAnswer('jobs', {}, 5, 60),
    workers: useAnswer('workers', {}, 5, 30),
    failures: useAnswer('failures', {}),
    checks: useAnswer('checks', {}),
    fields: useAnswer('fields', {}, 60),
    alerts: useAnswer('alerts', {}),
  };
  // Also every 15 seconds, because a killed load changes nothing in the warehouse.
  const asked = {
    ...others,
    loads: useAnswer('loads', { limit }, 1, 15),
    requests: useAnswer('requests', { month }),
  };
  const { loads, requests, checks } = asked;
  const known = Object.fromEntries(
    Object.entries(asked).map(([name, { answer }]) => [name, answer?.rows]),
  ) as Known;
  const { jobs = [], workers } = known;
  useTitle('Today');
  return (
    <>
      <h1>Today</h1>
      {Object.entries(others).map(([what, { error }]) => (
        <Trouble key={what} error={error} what={what} />
      ))}
      <Answered asked={loads}>
        {({ rows }) => (
          <>
            {rows.length > 0 ? (
              <p class="summary">{summaryOf(known)}</p>
            ) : (
              known.jobs && <NothingYet jobs={jobs} />
            )}
            <Banner causes={causesOf(known)} />
            <Running loads={rows} jobs={jobs} />
            <Workers workers={workers ?? []} />
            <div class="sides">
              <Jobs {...{ jobs, loads: rows }} hasWorkers={workers?.length !== 0} />
              <Budget {...{ jobs, requests, month }} />
            </div>
            {checks.answer && rows.length + checks.answer.rows.length > 0 && (
              <Checks asked={checks} jobs={jobs} />
            )}
            {rows.length > 0 && (
              <Section title="Last loads" beside={<Source of={loads} />}>
                <Loads loads={rows} limit={limit} />
              </Section>
            )}
          </>
        )}
      </Answered>
    </>
  );
}

/** Says how to begin: with the job that has the fewest days, if the lists of series are known. */
function NothingYet({ jobs }: { jobs: readonly Row<'jobs'>[] }) {
  const counted = jobs.filter(({ wanted }) => wanted !== null);
  const smallest = counted.toSorted((a, b) => a.wanted! - b.wanted!)[0];
  const [says, command, cost] = smallest
    ? ['This says what a first load costs:', `npx gmsi plan ${quoted(smallest.job)}`, free]
    : jobs.length > 0
      ? ['This fetches the lists of series, so that jobs can be planned:', 'npx gmsi lookups', costOf(5)]
      : ['This makes a job:', 'npx gmsi init', costOf(5)];
  return (
    <>
      <p class="summary">Nothing has been loaded yet. {says}</p>
      <Copied text={command} cost={cost} />
    </>
  );
}

function Workers({ workers }: { workers: readonly Row<'workers'>[] }) {
  if (workers.length === 0) return null;
  const each = workers.map(
    ({ run_by, concurrency, started_at }) =>
      `${run_by} (${number(concurrency)} at once, since ${moment(started_at)})`,
  );
  return (
    <p>
      {counted(workers.length, 'worker')}:<span class="quiet">{each.join(' · ')}</span>
    </p>
  );
}
