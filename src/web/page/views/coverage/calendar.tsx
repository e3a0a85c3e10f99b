import { useMemo, useState } from 'preact/hooks';
import { bandRows, calendarOf, cellOfDay, type DayStates, shades, steps } from '../../draw/calendar.ts';
import { states, stateTitles } from '../../draw/states.ts';
import { Grid } from '../../grid.tsx';
import type { CellAt } from '../../grid-layout.ts';
import { number } from '../../numbers.ts';
import { Link, Swatch } from '../../parts.tsx';
import { daysBetween, plusDays } from '../../time.ts';

/** Shows the days of a series by year. Arrow keys go from day to day, Page Up and Page Down from year to year. */
export function Calendar({
  days,
  label,
  match_type,
}: {
  days: DayStates;
  label: string;
  match_type: string;
}) {
  const [chosen, setChosen] = useState<string>();
  const calendar = useMemo(() => calendarOf(days), [days]);
  const cell = useMemo((): CellAt => {
    const least = steps(days.news);
    return (row, column) => {
      const day = calendar.dayAt(row, column);
      return day === undefined ? undefined : cellOfDay(days, least, daysBetween(days.from, day) - 1);
    };
  }, [calendar]);
  return (
    <div class="calendar apart">
      <Grid
        label={`${label}, by day: arrow keys go from day to day`}
        {...{ ...calendar, cell }}
        said={({ row, column }) => {
          const day = calendar.dayAt(row, column)!;
          return [day, said(days, day)];
        }}
        down={(across) => across}
        widest={13}
        page={bandRows}
        start={calendar.placeOf(plusDays(days.from, days.state.length - 1))}
        onMove={({ row, column }) => setChosen(calendar.dayAt(row, column))}
      />
      <p class="said small">
        {chosen ? `${chosen}: ${said(days, chosen)}` : <Shades news={days.news} />}{' '}
        {chosen && days.news && (
          <Link to={{ view: 'sentiment', match_type, from: chosen, to: chosen, by: 'hour' }}>its news</Link>
        )}
      </p>
    </div>
  );
}

function said({ from, state, news }: DayStates, day: string): string {
  const index = daysBetween(from, day) - 1;
  const title = stateTitles[states[state[index]!] ?? 'never'][0];
  const count = news?.[index] ?? 0;
  const told = news && (count > 0 || title === 'covered') ? `, ${number(count)} headlines` : '';
  return `${title}${told}`;
}

/** Explains the shades of covered days. */
function Shades({ news }: { news: Int32Array | undefined }) {
  if (!news) return <>Choose a day to see its state.</>;
  const least = steps(news);
  return (
    <span class="quiet">
      covered: <Swatch kind="hollow" />
      no news
      {least.map((from, index) => (
        <span key={from}>
          <Swatch kind="covered" strength={shades[index]!} />
          {number(from)}
          {index === least.length - 1 ? '+' : ''}
        </span>
      ))}
      {' headlines'}
    </span>
  );
}
