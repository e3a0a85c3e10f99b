import { useMemo } from 'preact/hooks';
import { useIsReport } from '../../api.ts';
import { barOf, type Days, daysOf, inWords, type Shown } from '../../draw/cells.ts';
import { states, stateTitles } from '../../draw/states.ts';
import { Grid } from '../../grid.tsx';
import type { Place } from '../../grid-layout.ts';
import { counted, number, share } from '../../numbers.ts';
import { Swatch } from '../../parts.tsx';

/** Shows all series: a row for each country or ticker, a column for each topic or variant. */
export function Matrix(props: {
  shown: Shown;
  /** The cell of the open series. */
  open?: Place | undefined;
  onOpen?: (place: Place) => void;
  onFold?: (group: string) => void;
}) {
  const { shown, ...others } = props;
  const isReport = useIsReport();
  const rows = useMemo(() => {
    const hasNames = isReport || (innerWidth >= 700 && shown.rows.length <= 40);
    return shown.rows.map(({ code, name }) => ({
      title: [code || 'all', hasNames && name].filter(Boolean).join('  '),
    }));
  }, [shown]);
  const columns = useMemo(
    () => shown.columns.map((_, column) => ({ ...shown.columns[column]!, title: titleOf(shown, column) })),
    [shown],
  );
  const down = () =>
    isReport ? 15 : Math.max(11, Math.min(22, Math.floor((innerHeight - 330) / rows.length)));
  const label = isReport ? inWords(daysOf(shown)) : 'Coverage: arrow keys move, Enter opens';
  return (
    <div class="matrix apart">
      <Grid
        {...{ label, rows, columns, down, ...others }}
        widest={isReport ? 60 : 200}
        cell={useMemo(() => (row, column) => barOf(shown, row, column), [shown])}
        said={({ row, column }) => {
          const { code, name } = shown.rows[row]!;
          return [
            `${[code || 'all', name].filter(Boolean).join(' ')}, ${titleOf(shown, column)}`,
            inWords(daysOf(shown, [row], [column])),
          ];
        }}
      />
    </div>
  );
}

function titleOf({ columns }: Shown, column: number): string {
  const { title, isFolded, of } = columns[column]!;
  return isFolded ? `${title} (${counted(of.length, 'topic')})` : title;
}

/** Shows all states with their days and percent, with the bar of a single cell. */
export function Legend({ days }: { days: Days }) {
  return (
    <ul class="row tight small" aria-label="Days by state">
      {([...states, 'never'] as const).map((state) => (
        <li key={state} title={stateTitles[state][1]} class={days[state] === 0 ? 'quiet' : undefined}>
          <Swatch kind={state} />
          {stateTitles[state][0]} <b>{number(days[state])}</b>
          {state === 'covered' && ' days'}{' '}
          {days[state] > 0 && (
            <span class="quiet">
              {days[state] / days.all < 0.001 ? '<0.1%' : share(days[state], days.all)}
            </span>
          )}
        </li>
      ))}
    </ul>
  );
}
