import { useMemo, useRef, useState } from 'preact/hooks';
import { go } from '../../address.ts';
import { useAnswer } from '../../api.ts';
import { calendarOf, cellOfDay, dayIn, type SeriesDays } from '../../draw/calendar.ts';
import type { SeriesAsked } from '../../draw/cells.ts';
import { fullOf } from '../../draw/scales.ts';
import { spansOf, stateOfWindow, stateTitles } from '../../draw/states.ts';
import { Grid } from '../../grid.tsx';
import type { CellAt } from '../../grid-layout.ts';
import { number } from '../../numbers.ts';
import { Answered, Link, Source, Swatch, useEscape, useFocusBack } from '../../parts.tsx';
import { report } from '../../report.ts';
import { type Row, variantTitle } from '../../rows.ts';
import { Table } from '../../table.tsx';
import { daysBetween, moment } from '../../time.ts';

const closed = { country: null, topic: null, ticker: null, variant: null };

/** Shows a series: a calendar of its days, and its windows. */
export function Series(
  props: SeriesAsked & {
    /** Its country or ticker. */
    code: string;
    name: string | null;
    by: 'country' | 'ticker';
    topic: string;
    variant: string;
    /** Its days by state; `undefined` if none was requested. */
    timeline: string | undefined;
  },
) {
  const { feed, match_type, from, to, code, name, by, topic, variant, timeline } = props;
  const isHeadlines = feed === 'gmsi-headlines';
  const windows = useAnswer('windows', { feed, match_type, [by]: code, topic, variant, from, to }, 2);
  const news = useAnswer(
    'sentiment',
    isHeadlines ? { country: code, topic, match_type, from, to } : undefined,
  );
  const days = useMemo((): SeriesDays | undefined => {
    if (isHeadlines && !news.answer && !news.error) return undefined;
    const spans = spansOf(timeline ?? `never ${daysBetween(from, to)}`);
    return {
      from,
      to,
      states: spans.flatMap(([state, length]) => Array(length).fill(state)),
      news:
        news.answer &&
        new Map(news.answer.rows.flatMap(({ at, headlines }) => (headlines ? [[at, headlines]] : []))),
    };
  }, [timeline, news.answer, news.error, from, to]);
  useEscape(() => go(closed));
  const section = useRef<HTMLElement>(null);
  useFocusBack(section, '.matrix [role="grid"]');
  const sentiment = { view: 'sentiment', country: code, topic, match_type, from, to };
  const title = [name ?? code, topic, code && variantTitle(variant)].filter(Boolean).join(' · ') || feed;
  return (
    <section class="series panel" ref={section} aria-label={title}>
      <div class="row">
        <h2>{title}</h2>
        <button type="button" class="flat end" aria-label="Close (Escape)" onClick={() => go(closed)}>
          ✕
        </button>
      </div>
      <div class="row">
        <span class="quiet">{[code, match_type].filter(Boolean).join(' · ')}</span>
        {isHeadlines && !report && <Link to={sentiment}>its sentiment</Link>}
        <Source of={windows} />
      </div>
      {days && <Calendar days={days} label={title} match_type={match_type} />}
      <Answered asked={windows} empty="No window of this series is in this period: no job has requested it.">
        {({ rows }) => <Windows windows={rows} />}
      </Answered>
    </section>
  );
}

/** Shows the days of a series by year. Arrow keys go from day to day, Page Up and Page Down from year to year. */
function Calendar({ days, label, match_type }: { days: SeriesDays; label: string; match_type: string }) {
  const [chosen, setChosen] = useState<string>();
  const calendar = useMemo(() => calendarOf(days), [days]);
  const cell = useMemo((): CellAt => {
    const full = fullOf([...(days.news?.values() ?? [])]);
    return (row, column) => {
      const day = calendar.dayAt(row, column);
      return day === undefined ? undefined : cellOfDay(dayIn(days, day), full);
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
        start={calendar.placeOf(days.to)}
        onMove={({ row, column }) => setChosen(calendar.dayAt(row, column))}
      />
      <p class="said small">
        {chosen
          ? `${chosen}: ${said(days, chosen)}`
          : days.news && 'The darker, the more headlines; hollow: none.'}{' '}
        {chosen && days.news && !report && (
          <Link to={{ view: 'sentiment', match_type, from: chosen, to: chosen, by: 'hour' }}>its news</Link>
        )}
      </p>
    </div>
  );
}

function said(days: SeriesDays, day: string): string {
  const { state, count } = dayIn(days, day);
  const told = count && `, ${number(count)} headlines`;
  return `${stateTitles[state][0]}${told || (state === 'covered' && count === 0 ? ', no headlines' : '')}`;
}

type Windows = readonly Row<'windows'>[];

const order = ['failed', 'refused', 'draining', 'pending', 'drained'];

/** Returns the title of a state. A drained window may have days that are not settled yet. */
function titleOf(state: string): string {
  return state === 'drained' ? 'drained' : stateTitles[stateOfWindow(state)][0];
}

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
          show: ({ first_day, last_day }) => `${first_day} – ${last_day}`,
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
              {attempts !== null && attempts > 1 && <span class="quiet">, {number(attempts)} attempts</span>}
            </>
          ),
        },
        ...(['pages', 'records'] as const).map((title) => ({
          title,
          kind: 'number' as const,
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
