import { useMemo } from 'preact/hooks';
import { barOf, type Days, daysOf, inWords, type Shown } from '../../draw/cells.ts';
import { states, stateTitles } from '../../draw/states.ts';
import { Grid } from '../../grid.tsx';
import type { Place } from '../../grid-layout.ts';
import { number } from '../../numbers.ts';
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
  const rows = useMemo(() => {
    const hasNames = innerWidth >= 700 && shown.rows.length <= 40;
    return shown.rows.map(({ code, name }) => ({
      title: [code, (hasNames || !code) && name].filter(Boolean).join('  ') || 'all',
    }));
  }, [shown]);
  const columns = useMemo(
    () => shown.columns.map((_, column) => ({ ...shown.columns[column]!, title: titleOf(shown, column) })),
    [shown],
  );
  const down = () => Math.max(11, Math.min(22, Math.floor((innerHeight - 330) / rows.length)));
  const label = 'Coverage: arrow keys move, Enter opens';
  return (
    <div class="matrix apart">
      <Grid
        {...{ label, rows, columns, down, ...others }}
        // A single column draws time across the page.
        widest={columns.length === 1 ? Number.POSITIVE_INFINITY : 200}
        cell={useMemo(() => (row, column) => barOf(shown, row, column), [shown])}
        said={({ row, column }) => {
          const { code, name } = shown.rows[row]!;
          const { of, isFolded } = shown.columns[column]!;
          const { topic } = shown.cells.columns[of[0]!]!;
          const title = titleOf(shown, column);
          const names = [
            [code, name].filter(Boolean).join(' '),
            !isFolded && topic !== title && topic,
            title,
          ];
          return [names.filter(Boolean).join(', ') || 'all', inWords(daysOf(shown, [row], [column]))];
        }}
      />
    </div>
  );
}

/** A single column needs no title. */
function titleOf({ columns }: Shown, column: number): string {
  if (columns.length === 1 && !columns[0]!.group) return '';
  const { title, isFolded, of } = columns[column]!;
  return isFolded ? `${title} (${number(of.length)} series)` : title;
}

/** Names the states that are shown, for the colours of days. */
export function Legend({ days }: { days: Days }) {
  return (
    <ul class="row tight small" aria-label="States of days">
      {([...states, 'never'] as const)
        .filter((state) => days[state] > 0)
        .map((state) => (
          <li key={state} title={stateTitles[state][1]}>
            <Swatch kind={state} />
            {stateTitles[state][0]}
          </li>
        ))}
    </ul>
  );
}
