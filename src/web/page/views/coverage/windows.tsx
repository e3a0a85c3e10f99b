import { useAnswer } from '../../api.ts';
import { stateOfWindow, stateTitles } from '../../draw/states.ts';
import { groupedBy } from '../../grouped.ts';
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
      kind="small"
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
                <Swatch kind={state === 'drained' ? 'covered' : stateOfWindow(state)} />
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
  const open = windows.filter(({ state }) => ['failed', 'pending', 'refused'].includes(state));
  if (open.length === 0) return null;
  // A window without a load probably belongs to the job that loaded the others.
  const likely = windows.find(({ job }) => job !== null)?.job ?? '';
  return (
    <ul class="stack apart">
      {[...groupedBy(open, ({ job }) => job ?? likely)].map(([job, of]) => {
        const parts = [...groupedBy(of, ({ state }) => state)].map(
          ([state, some]) => `${number(some.length)} ${titleOf(state)}`,
        );
        const retry = of.some(({ state }) => state === 'refused') ? ' --retry-refused' : '';
        const command = `npx gmsi backfill ${job === '' ? '<job>' : quoted(job)}${retry}`;
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
