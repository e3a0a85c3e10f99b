import { useMemo, useRef } from 'preact/hooks';
import { go } from '../../address.ts';
import { type AnswersTo, question, useTogether } from '../../api.ts';
import { bucketText, bucketTitle, startsOf } from '../../buckets.ts';
import { colourOf, fullOf, limitOf, strengthOf } from '../../draw/scales.ts';
import { Grid } from '../../grid.tsx';
import type { Cell } from '../../grid-layout.ts';
import { counted, score } from '../../numbers.ts';
import { Answered, Swatch, Titled, useWidth } from '../../parts.tsx';
import { Noted } from '../../share.tsx';
import { dayOf, daysBetween, moment, zone } from '../../time.ts';
import { AsOf } from './as-of.tsx';
import { type Asked, newsOf } from './asked.ts';

/** Least width of a week in pixels; below it, months are shown. */
const narrowest = 5;

/** Shows topics by week, or by month if there are too many weeks: colour is the mean, strength the number of headlines. */
export function HeatMap(props: { asked: Asked; topics: readonly string[]; countries: string }) {
  const { asked, topics, countries } = props;
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box);
  /** The room for cells in pixels. */
  const inner = width - Math.min(250, width * 0.45);
  const by = (daysBetween(asked.from, asked.to) / 7) * narrowest > inner ? 'month' : 'week';
  const about = { ...asked, by, topics: topics.slice(0, 100), title: countries, inner } as const;
  const answers = useTogether(width > 0 && topics.length > 0 ? about : undefined, questionsOf);
  return (
    <div ref={box}>
      <Answered asked={answers} as={Shown} />
    </div>
  );
}

type About = Omit<Asked, 'by'> & {
  readonly by: 'week' | 'month';
  readonly title: string;
  readonly inner: number;
};

function questionsOf({ from, to, by, countries, topics, matches, asOf }: About) {
  const lists = { country: countries, topic: topics, match_type: matches };
  return { means: question('sentiment/topics', { ...lists, from, to, by, as_of: asOf }) };
}

function Shown({ about, means }: AnswersTo<typeof questionsOf>) {
  const { title, from, to, by, countries, topics, inner, asOf, model } = about;
  const { starts, columns, limit, cell, said } = useMemo(() => {
    const starts = startsOf(from, to, by);
    const days = starts.map((start) => dayOf(start));
    const found = new Map(means.rows.map((row) => [`${row.topic} ${row.at}`, row]));
    const rowAt = (row: number, column: number) => found.get(`${topics[row]} ${days[column]}`);
    // Ignores extremes: a few weeks with hardly any headlines would make all others pale.
    const sizes = means.rows.map((row) => Math.abs(row[model] ?? 0)).toSorted((a, b) => a - b);
    const limit = limitOf(sizes.slice(0, Math.ceil(sizes.length * 0.97)));
    const full = fullOf(means.rows.map(({ all_count }) => all_count ?? 0));
    // The head of a column is its month, or its year if months are too narrow for that.
    const months = new Set(days.map((day) => day.slice(0, 7))).size;
    const columns = days.map((day) => ({ title: '', group: day.slice(0, inner / months > 52 ? 7 : 4) }));
    const cell = (row: number, column: number): Cell => {
      const { [model]: mean = null, all_count: headlines, state = 'not loaded' } = rowAt(row, column) ?? {};
      const mark = state === 'covered' || state === 'settling' ? undefined : 'hatch';
      if (mean === null) return { parts: mark ? [['var(--never)', 1]] : [], mark };
      return { parts: [[colourOf(mean, limit), 1]], strength: strengthOf(headlines ?? 0, full), mark };
    };
    const said = (row: number, column: number) => {
      const { [model]: mean = null, all_count: headlines, state = 'not loaded' } = rowAt(row, column) ?? {};
      const open = { settling: 'may still change', partial: 'loaded in part', 'not loaded': state }[state];
      const count = headlines ? counted(headlines, 'headline') : state !== 'not loaded' && 'no news';
      const words = [mean !== null && score(mean), count, open].filter(Boolean);
      return `${bucketTitle(days[column]!, by)}: ${words.join(' · ')}`;
    };
    return { starts, columns, limit, cell, said };
  }, [about, means]);
  return (
    <>
      <Titled
        title={`${title}: sentiment by topic, ${from} to ${to}${asOf ? `, as of ${moment(asOf)} ${zone.value}` : ''}`}
      >
        Mean {model} score by {by}
        {countries.length > 1 && ' of all countries together'}, from −1 to +1{newsOf(about)}; cells with fewer
        headlines are paler.<span class="hint"> A click shows the topic’s line.</span>
      </Titled>
      <Noted of={means} chart=".grid" />
      <Grid
        label={`Sentiment by topic and ${by}. Arrow keys read it out, Enter shows the line of a topic.`}
        {...{ rows: topics, columns, cell }}
        said={({ row, column }) => [topics[row]!, said(row, column)]}
        down={() => 18}
        start={{ row: 0, column: starts.length - 1 }}
        onOpen={({ row, column }) =>
          go({ show: 'lines', topic: topics[row]!, by, at: bucketText(starts[column]!, by), of: null })
        }
      />
      <div class="row small legend quiet">
        negative, −{limit} or less
        <span class="ramp" aria-hidden="true" />
        positive, +{limit} or more
        <span>
          <Swatch kind="hatched" />
          not loaded, or in part
        </span>
        <span>
          <Swatch kind="blank" />
          no news
        </span>
      </div>
      <AsOf isLines={false} asOf={asOf} />
    </>
  );
}
