import { useAnswer } from '../../api.ts';
import { stateOfWindow, stateTitles } from '../../draw/states.ts';
import { number } from '../../numbers.ts';
import { Swatch } from '../../parts.tsx';
import type { Row } from '../../rows.ts';
import { Table } from '../../table.tsx';
import { moment } from '../../time.ts';
import { Copied, costOf, quoted } from '../commands.tsx';

type Windows = readonly Row<'windows'>[];

const order = ['failed', 'refused', 'draining', 'pending', 'drained'];

/** Returns the title of a state. A drained window may have days that are not settled yet. */
function titleOf(state: string): string {
  return state === 'drained' ? 'drained' : stateTitles[stateOfWindow(state)][0];
}

/** Omits the year of a day if another day has the same. */
function shortened(day: string, other: string): string {
  return day.slice(0, 4) === other.slice(0, 4) ? day.slice(5) : day;
}

/** Shows the windows of a series, those with a problem first. */
export function Windows({ windows }: { windows: Windows }) {
  return (
    <Table
      label="Windows"
      kind="windows"
      rows={windows.toSorted((a, b) => order.indexOf(a.state) - order.indexOf(b.state))}
      keyOf={({ window_id }) => window_id}
      sort="windows"
      first={15}
      detail={({ last_error }) => last_error && <span class="bad">{last_error}</span>}
      columns={[
        {
          title: 'days',
          kind: 'nowrap',
          by: ({ first_day }) => first_day,
          show: (one) => `${one.first_day} – ${shortened(one.last_day, one.first_day)}`,
        },
        {
          title: 'state',
          by: ({ state }) => order.indexOf(state),
          show: ({ state, is_half_drained, attempts }) => (
            <>
              <span class="nowrap">
                <Swatch state={state === 'drained' ? 'covered' : stateOfWindow(state)} />
                {titleOf(state)}
              </span>
              {is_half_drained && <span class="quiet">, half</span>}
              {attempts > 1 && <span class="quiet">, {number(attempts)} attempts</span>}
            </>
          ),
        },
        ...(['pages', 'records'] as const).map((title) => ({
          ...{ title, kind: 'number' as const },
          by: (one: Windows[number]) => one[title],
          show: (one: Windows[number]) => number(one[title]),
        })),
        {
          title: 'finished',
          kind: 'nowrap',
          by: ({ finished_at }) => finished_at,
          show: ({ finished_at }) => finished_at && <span class="quiet">{moment(finished_at)}</span>,
        },
      ]}
    />
  );
}

/** Shows the commands that load what is not drained, with their cost. */
export function Commands({ windows }: { windows: Windows }) {
  const known = useAnswer('jobs', {}, 60).answer?.rows;
  const open = windows.filter(({ state }) => ['failed', 'refused', 'pending'].includes(state));
  const jobs = new Map<string, { failed: number; refused: number; pending: number }>();
  // A window without a load probably belongs to the job that loaded the others.
  const likely = windows.find(({ job }) => job !== null)?.job ?? '';
  for (const { job, state } of open) {
    const counts = jobs.get(job ?? likely) ?? { failed: 0, refused: 0, pending: 0 };
    counts[state as 'failed' | 'refused' | 'pending'] += 1;
    jobs.set(job ?? likely, counts);
  }
  if (open.length === 0) return null;
  return (
    <ul class="commands">
      {[...jobs].map(([job, { failed, refused, pending }]) => {
        const parts = [
          failed > 0 && `${number(failed)} failed`,
          pending > 0 && `${number(pending)} waiting`,
          refused > 0 && `${number(refused)} refused`,
        ].filter(Boolean);
        const command = `npx gmsi backfill ${job === '' ? '<job>' : quoted(job)}${refused > 0 ? ' --retry-refused' : ''}`;
        const requests = known?.find((one) => one.job === job)?.backfill_requests;
        return (
          <li key={job}>
            <span class="quiet">To load the {parts.join(', ')}:</span>
            <Copied text={command} cost={known && `${costOf(requests)}: all that the job still misses`} />
            {job === '' && (
              <span class="quiet">
                The job of this series is not known: <code>npx gmsi jobs</code> lists them.
              </span>
            )}
          </li>
        );
      })}
    </ul>
  );
}
