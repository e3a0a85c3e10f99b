import { go } from '../../address.ts';
import { useIsReport } from '../../api.ts';
import { number } from '../../numbers.ts';
import { Swatch } from '../../parts.tsx';
import type { Row } from '../../rows.ts';
import { type Column, Table } from '../../table.tsx';
import { moment, span } from '../../time.ts';

type Load = Row<'loads'>;

/** The colour and the meaning of each outcome. */
const outcomes: Readonly<Record<string, readonly [state: string, meaning: string]>> = {
  done: ['covered', 'Everything requested is loaded.'],
  incomplete: ['refused', 'Some windows failed or were refused.'],
  budget: ['pending', 'Stopped at the request budget.'],
  interrupted: ['pending', 'Stopped by a signal.'],
  failed: ['failed', 'An error ended it that a retry does not fix.'],
  killed: ['failed', 'It stopped without an outcome, probably killed.'],
  running: ['running', 'It runs.'],
};

const isDone = ({ state, error }: Load) => state === 'done' && error === null;

/** A count, pale if it is zero. */
function count(title: string, of: (load: Load) => number): Column<Load> {
  return {
    title,
    kind: 'number',
    show: (load) => <span class={of(load) === 0 ? 'quiet' : undefined}>{number(of(load))}</span>,
  };
}

/** Shows the last loads, the latest first. */
export function Loads({ loads, limit }: { loads: readonly Load[]; limit: number }) {
  const isReport = useIsReport();
  const ended = loads.filter(({ state }) => state !== 'running');
  if (ended.length === 0) return <p class="quiet">No load has ended yet.</p>;
  const columns: Column<Load>[] = [
    {
      title: 'outcome',
      kind: 'nowrap',
      show: (load, _, unfold) => {
        const [state, meaning] = outcomes[load.state] ?? ['never', ''];
        const outcome = (
          <span title={meaning}>
            <Swatch kind={state} />
            {load.state}
          </span>
        );
        return isDone(load) ? outcome : unfold(outcome);
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
    <>
      <Table
        label="Loads"
        kind="small"
        rows={ended}
        columns={columns}
        keyOf={({ load_id }) => load_id}
        isFolded
        detail={(load) =>
          !isDone(load) && (
            <div class="anywhere">
              {outcomes[load.state]?.[1]} {load.error && <span class="bad">{load.error}</span>}
            </div>
          )
        }
      />
      {loads.length >= limit && limit < 500 && !isReport && (
        <button type="button" onClick={() => go({ loads: '500' })}>
          Show more
        </button>
      )}
    </>
  );
}
