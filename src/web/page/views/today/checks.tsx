import type { Answering } from '../../api.ts';
import { number } from '../../numbers.ts';
import { Section, Source, Swatch } from '../../parts.tsx';
import type { Row } from '../../rows.ts';
import { type Column, Table } from '../../table.tsx';
import { moment } from '../../time.ts';
import { Copied, free, quoted } from '../commands.tsx';

type Check = Row<'checks'>;

/** The colours of results. */
const colours: Readonly<Record<string, string>> = {
  ...{ failed: 'failed', warned: 'refused', passed: 'covered', skipped: 'never' },
};

/** Shows what `gmsi check` found in its last run. */
export function Checks({ asked, jobs }: { asked: Answering<'checks'>; jobs: readonly Row<'jobs'>[] }) {
  const { rows } = asked.answer!;
  const job = jobs.find(({ last_load_at }) => last_load_at !== null)?.job;
  const noted = rows.filter(({ result }) => result === 'failed' || result === 'warned');
  return (
    <Section
      title="Checks"
      beside={
        <>
          <span class="quiet">{rows.length > 0 && summaryOf(rows)}</span>
          <Source of={asked} />
        </>
      }
    >
      {rows.length === 0 ? (
        <>
          <p class="quiet">No check has been run. Checks look for errors in what is loaded:</p>
          <Copied text={`npx gmsi check ${job === undefined ? '<job>' : quoted(job)}`} cost={free} />
        </>
      ) : (
        noted.length > 0 && (
          <Table
            label="Checks that found something"
            rows={noted}
            columns={columns}
            keyOf={({ job, check_name }) => `${job} ${check_name}`}
          />
        )
      )}
    </Section>
  );
}

/** Counts checks by result, with the age of the results. */
function summaryOf(checks: readonly Check[]): string {
  const results = Object.keys(colours).flatMap((result) => {
    const many = checks.filter((one) => one.result === result).length;
    return many > 0 ? `${number(many)} ${result}` : [];
  });
  const oldest = checks.map(({ checked_at }) => checked_at).toSorted()[0]!;
  return `${results.join(', ')}; checked since ${moment(oldest)}`;
}

const columns: Column<Check>[] = [
  {
    title: 'result',
    kind: 'nowrap',
    show: ({ result }) => (
      <>
        <Swatch kind={colours[result]!} />
        {result}
      </>
    ),
  },
  { title: 'job', show: ({ job }) => job },
  {
    title: 'findings',
    kind: 'number',
    show: ({ findings }) => (findings > 0 ? number(findings) : <span class="quiet">–</span>),
  },
  { title: 'what must hold', show: ({ reason, title }) => reason ?? title },
  { title: 'checked', kind: 'nowrap', show: ({ checked_at }) => moment(checked_at) },
  {
    title: 'to see them',
    show: ({ job, check_name }) => (
      <Copied text={`npx gmsi check ${quoted(job)} --only ${quoted(check_name)}`} cost={free} />
    ),
  },
];
