import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import {
  calendarLayout,
  type DayStates,
  dayAt,
  drawCalendar,
  placeOfDay,
  steps,
} from '../../draw/calendar.ts';
import { useWidth } from '../../draw/canvas.ts';
import { isDark } from '../../draw/colours.ts';
import { states, stateTitles } from '../../draw/states.ts';
import { number } from '../../numbers.ts';
import { Link } from '../../parts.tsx';
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
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const width = useWidth(box);
  const [hovered, setHovered] = useState<string>();
  const last = plusDays(days.from, days.state.length - 1);
  const [chosen, setChosen] = useState<string>();
  const layout = useMemo(() => (width > 0 ? calendarLayout(days, width) : undefined), [days, width]);
  useLayoutEffect(() => {
    if (layout && canvas.current) drawCalendar(canvas.current, days, layout);
  }, [days, layout, isDark.value]);
  const isInside = (day: string) => day >= days.from && day <= last;
  const find = (event: MouseEvent) => {
    const day = layout && dayAt(layout, event.offsetX, event.offsetY);
    return day !== undefined && isInside(day) ? day : undefined;
  };
  const onKey = (event: KeyboardEvent) => {
    const move = { ArrowUp: -1, ArrowDown: 1, ArrowLeft: -7, ArrowRight: 7, PageUp: 364, PageDown: -364 }[
      event.key
    ];
    if (move === undefined) return;
    const next = plusDays(chosen ?? last, chosen === undefined ? 0 : move);
    if (isInside(next)) setChosen(next);
    event.preventDefault();
  };
  const told = hovered ?? chosen;
  const frame = (day: string) => {
    const [x, y] = placeOfDay(layout!, day);
    const size = `${layout!.pitch - 1}px`;
    return { left: `${x}px`, top: `${y}px`, width: size, height: size };
  };
  const sentiment = chosen && { view: 'sentiment', match_type, from: chosen, to: chosen, by: 'hour' };
  return (
    <div class="calendar" ref={box}>
      <div
        class="days"
        role="application"
        aria-label={`${label}, by day: arrow keys go from day to day`}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: its days are reached by arrow keys
        tabIndex={0}
        onKeyDown={onKey}
      >
        <canvas
          ref={canvas}
          onPointerMove={(event) => setHovered(find(event))}
          onPointerLeave={() => setHovered(undefined)}
          onClick={(event) => setChosen(find(event))}
        />
        {layout && told && <div class="frame" style={frame(told)} />}
      </div>
      <p class="said" aria-live="polite">
        {told ? said(days, told) : <Shades news={days.news} />}{' '}
        {sentiment && days.news && told === chosen && <Link to={sentiment}>its news</Link>}
      </p>
    </div>
  );
}

function said({ from, state, news }: DayStates, day: string): string {
  const index = daysBetween(from, day) - 1;
  const title = stateTitles[states[state[index]!] ?? 'never'][0];
  const count = news?.[index] ?? 0;
  const told = news && (count > 0 || title === 'covered') ? `, ${number(count)} headlines` : '';
  return `${day}: ${title}${told}`;
}

/** Explains the shades of covered days. */
function Shades({ news }: { news: Int32Array | undefined }) {
  if (!news) return <>Choose a day to see its state.</>;
  const least = steps(news);
  return (
    <span class="quiet">
      covered: <i class="swatch hollow" />
      no news
      {least.map((from, index) => (
        <span key={from}>
          <i class={`swatch covered shade${index}`} />
          {number(from)}
          {index === least.length - 1 ? '+' : ''}
        </span>
      ))}
      {' headlines'}
    </span>
  );
}
