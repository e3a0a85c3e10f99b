import { useState } from 'preact/hooks';
import type { LoadShown } from '../../../../warehouse/questions/runs.ts';
import { go } from '../../address.ts';
import { useIsReport, type Wire } from '../../api.ts';
import { number } from '../../numbers.ts';
import { Scroll } from '../../parts.tsx';
import { moment, span } from '../../time.ts';

type Load = Wire<LoadShown>;

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

/** Shows the last loads, the latest first. */
export function Loads({ loads, limit }: { loads: readonly Load[]; limit: number }) {
  const isReport = useIsReport();
  const ended = loads.filter(({ state }) => state !== 'running');
  if (ended.length === 0) return <p class="quiet">No load has ended yet.</p>;
  return (
    <>
      <Scroll label="Loads">
        <table class="loads">
          <thead>
            <tr>
              <th>outcome</th>
              <th>job</th>
              <th>command</th>
              <th>began</th>
              <th class="number">took</th>
              <th class="number">requests</th>
              <th class="number">windows</th>
              <th class="number">records</th>
              <th class="number">new</th>
              <th class="number">changed</th>
              <th class="number">retracted</th>
              <th class="number">rejected</th>
              <th>by</th>
            </tr>
          </thead>
          <tbody>
            {ended.map((load) => (
              <One key={load.load_id} load={load} />
            ))}
          </tbody>
        </table>
      </Scroll>
      {loads.length >= limit && limit < 500 && !isReport && (
        <button type="button" onClick={() => go({ loads: '500' })}>
          Show more
        </button>
      )}
    </>
  );
}

function One({ load }: { load: Load }) {
  const isReport = useIsReport();
  const [state, meaning] = outcomes[load.state] ?? ['never', ''];
  const isDone = load.state === 'done' && load.error === null;
  const [isOpen, setOpen] = useState(isReport && !isDone);
  const seconds = (Date.parse(load.ended_at) - Date.parse(load.started_at)) / 1000;
  const outcome = (
    <>
      <i class={`swatch ${state}`} />
      {load.state}
    </>
  );
  return (
    <>
      <tr>
        <td class="nowrap" title={meaning}>
          {isDone || isReport ? (
            outcome
          ) : (
            <button type="button" class="unfold" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
              {outcome}
            </button>
          )}
        </td>
        <td>{load.job}</td>
        <td title={load.feed}>{load.command}</td>
        <td class="nowrap">{moment(load.started_at)}</td>
        <td class="number nowrap">{span(seconds)}</td>
        <td class="number">{number(load.requests)}</td>
        <td class="number nowrap">
          {number(load.windows_drained)}
          {load.windows_failed > 0 && <span class="bad">, {number(load.windows_failed)} failed</span>}
        </td>
        {[
          load.records,
          load.rows_inserted,
          load.rows_changed,
          load.rows_retracted,
          load.records_rejected,
        ].map((count, index) => (
          <td key={index} class={`number ${count === 0 ? 'quiet' : ''}`}>
            {number(count)}
          </td>
        ))}
        <td class="quiet nowrap">{load.run_by}</td>
      </tr>
      {isOpen && (
        <tr>
          <td colSpan={13} class="reason">
            <p>
              {meaning} {load.error && <span class="bad">{load.error}</span>}
            </p>
          </td>
        </tr>
      )}
    </>
  );
}
