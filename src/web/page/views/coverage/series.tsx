import { useMemo, useRef } from 'preact/hooks';
import { go } from '../../address.ts';
import { useAnswer } from '../../api.ts';
import { dayStates } from '../../draw/calendar.ts';
import type { SeriesAsked } from '../../draw/cells.ts';
import { stateOfWindow } from '../../draw/states.ts';
import { Answered, Link, Problem, Source, useEscape, useFocusBack } from '../../parts.tsx';
import { Calendar } from './calendar.tsx';
import { Commands, Windows } from './windows.tsx';

/** A series of a feed. */
export interface SeriesShown {
  /** Its country or ticker. */
  readonly code: string;
  readonly topic: string;
  readonly variant: string;
}

const closed = { country: null, topic: null, ticker: null, variant: null };

/** Shows a series: a calendar of its days, its windows, and the commands that load what is missing. */
export function Series({
  feed,
  match_type,
  from,
  to,
  series: { code, topic, variant },
  name,
  by,
}: SeriesAsked & {
  series: SeriesShown;
  name: string | null;
  by: 'country' | 'ticker';
}) {
  const asked = { feed, match_type, [by]: code, topic, variant, from, to };
  const isHeadlines = feed === 'gmsi-headlines';
  const covered = useAnswer('coverage/days', asked, 2);
  const windows = useAnswer('windows', asked, 2);
  const news = useAnswer(
    'sentiment',
    isHeadlines ? { country: code, topic, match_type, from, to } : undefined,
  );
  const found = useMemo(
    () => windows.answer?.rows.map((one) => ({ ...one, state: stateOfWindow(one.state) })),
    [windows.answer],
  );
  const days = useMemo(() => {
    const isWaiting = isHeadlines && !news.answer && !news.error;
    if (!covered.answer || !found || isWaiting) return undefined;
    return dayStates({ from, to }, covered.answer.rows, found, news.answer?.rows);
  }, [covered.answer, found, news.answer, news.error, from, to]);
  useEscape(() => go(closed));
  const section = useRef<HTMLElement>(null);
  useFocusBack(section, '.matrix [role="grid"]');
  const sentiment = { view: 'sentiment', country: code, topic, match_type, from, to };
  const title = [name ?? code, topic, variant].filter(Boolean).join(' · ');
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
        {isHeadlines && <Link to={sentiment}>its sentiment</Link>}
        <Source of={windows} />
      </div>
      {covered.error && <Problem error={covered.error} />}
      {days && <Calendar days={days} label={title} match_type={match_type} />}
      <Answered asked={windows} empty="No window of this series is in this period: no job has requested it.">
        {({ rows }) => (
          <>
            <Commands windows={rows} />
            <Windows windows={rows} />
          </>
        )}
      </Answered>
    </section>
  );
}
