import { useMemo, useRef } from 'preact/hooks';
import { go } from '../../address.ts';
import { useTogether } from '../../api.ts';
import { bucketText, bucketTitle, endOf, startsOf } from '../../buckets.ts';
import { isLoaded, type Model, stateOf, stateWords } from '../../draw/points.ts';
import { colourOf, fullOf, limitOf, strengthOf } from '../../draw/scales.ts';
import { Grid } from '../../grid.tsx';
import type { Cell, CellAt, GridRow } from '../../grid-layout.ts';
import { counted, score } from '../../numbers.ts';
import { Answered, Noted, useWidth } from '../../parts.tsx';
import type { Row } from '../../rows.ts';
import { aDay, dayOf } from '../../time.ts';
import { type Asked, newsOf } from './asked.ts';
import { Scale, useMeans } from './means.tsx';

export interface Topic {
  readonly name: string;
  readonly category: string;
}

/** Least width of a week in pixels; below it, months are shown. */
const narrowest = 5;

/** Shows topics by week, or by month if there are too many weeks: colour is the mean, strength the number of headlines. */
export function HeatMap({ asked, topics }: { asked: Asked; topics: readonly Topic[] }) {
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box);
  const inner = width - Math.min(250, width * 0.42);
  const weeks = (Date.parse(asked.to) - Date.parse(asked.from)) / aDay / 7;
  const by = weeks * narrowest > inner ? 'month' : 'week';
  const days = { from: asked.from, to: asked.to };
  const names = topics.map(({ name }) => name).slice(0, 100);
  const lists = { country: asked.countries, topic: names, match_type: asked.matches };
  const model = asked.models[0]!;
  const { means, covered } = useMeans(
    'sentiment/topics',
    { ...lists, ...days, by, as_of: asked.asOf },
    width > 0 && names.length > 0,
  );
  const series = asked.countries.length * asked.matches.length;
  const table = useTogether(
    [means, covered],
    ({ rows }, covered) => tableOf(rows, covered.rows, topics, { ...days, by, series, model }),
    [topics.length, model, asked.from, asked.to],
  );
  return (
    <div ref={box}>
      <Noted of={means} chart=".chart, .grid, .map">
        Mean {model} score by {by} of {asked.countries.join(', ')}
        {asked.countries.length > 1 && ' together'}
        {newsOf(asked)}; cells with fewer headlines are paler. A click shows the topic’s line.
      </Noted>
      <Answered asked={table}>
        {(table) => (
          <>
            <Drawn table={table} width={inner} />
            <Scale limit={table.limit} isDotted={false} />
          </>
        )}
      </Answered>
    </div>
  );
}

type Table = ReturnType<typeof tableOf>;
type Bucket = NonNullable<Table['rows'][number]>[number];

/** Puts the means of topics into buckets. */
function tableOf(
  rows: readonly Row<'sentiment/topics'>[],
  covered: readonly Row<'coverage/days'>[],
  topics: readonly Topic[],
  asked: {
    readonly from: string;
    readonly to: string;
    readonly by: 'week' | 'month';
    /** How many series a cell sums up. */
    readonly series: number;
    readonly model: Model;
  },
) {
  const { from, to, by, series, model } = asked;
  const period = [Date.parse(from), Date.parse(to) + aDay] as const;
  const starts = startsOf(from, to, by);
  const found = new Map(rows.map((row) => [`${row.topic} ${row.at}`, row]));
  const bucketsOf = (topic: string) => {
    const ranges = covered.filter((range) => range.topic === topic);
    const daysIn = (from: number, to: number) =>
      ranges.reduce((sum, { first_day, last_day }) => sum + common(from, to, first_day, last_day), 0);
    const isCovered = (from: number, to: number) => daysIn(from, to) >= ((to - from) / aDay) * series;
    return starts.map((start) => {
      const stop = endOf(start, by);
      const row = found.get(`${topic} ${dayOf(start)}`);
      const isAny = row !== undefined || daysIn(start, stop) > 0;
      const state = stateOf(isCovered, [start, stop], period, isAny);
      return { mean: row?.[model] ?? null, headlines: row?.headlines ?? 0, state };
    });
  };
  const titles: GridRow[] = [];
  for (const [index, { name, category }] of topics.entries()) {
    if (category && category !== topics[index - 1]?.category)
      titles.push({ title: category, isHeading: true });
    titles.push({ title: name });
  }
  const cells = titles.map(({ title, isHeading }) => (isHeading ? undefined : bucketsOf(title)));
  // Ignores extremes: a few weeks with hardly any headlines would make all others pale.
  const means = rows.map((row) => Math.abs(row[model] ?? 0)).toSorted((a, b) => a - b);
  const usual = means.slice(0, Math.ceil(means.length * 0.97));
  const full = fullOf(rows.map(({ headlines }) => headlines));
  return { by, from, to, starts, titles, rows: cells, limit: limitOf(usual), full };
}

/** Counts the days that a bucket and a range have in common. */
function common(start: number, stop: number, first: string, last: string): number {
  return Math.max(0, (Math.min(stop, Date.parse(last) + aDay) - Math.max(start, Date.parse(first))) / aDay);
}

function Drawn({ table, width }: { table: Table; width: number }) {
  const { titles, rows, starts, by, limit, full } = table;
  const columns = useMemo(
    () => headsOf(starts, width).map((group) => ({ title: '', group })),
    [table, width],
  );
  const cell = useMemo((): CellAt => {
    const cells = rows.map((row) => row?.map((bucket) => cellOf(bucket, limit, full)));
    return (row, column) => cells[row]?.[column];
  }, [table]);
  return (
    <div style={{ '--titles': '250px' }}>
      <Grid
        label={`Sentiment by topic and ${by}. Arrow keys read it out, Enter shows the line of a topic.`}
        {...{ rows: titles, columns, cell }}
        said={({ row, column }) => [titles[row]!.title, wordsOf(table, row, column)]}
        down={() => 18}
        start={{ row: rows.findIndex(Boolean), column: starts.length - 1 }}
        onOpen={({ row, column }) =>
          go({ show: 'lines', topic: titles[row]!.title, by, at: bucketText(starts[column]!, by), of: null })
        }
      />
    </div>
  );
}

/** Returns how a bucket is drawn, in few enough colours and strengths. */
function cellOf({ mean, headlines, state }: Bucket, limit: number, full: number): Cell {
  const mark = isLoaded(state) ? undefined : 'hatch';
  if (mean === null) return { parts: mark ? [['var(--never)', 1]] : [], mark };
  return { parts: [[colourOf(mean, limit), 1]], strength: strengthOf(headlines, full), mark };
}

/** Returns the head of each column: its month, or its year if months are too narrow for that. */
function headsOf(starts: readonly number[], width: number): string[] {
  const months = new Set(starts.map((start) => dayOf(start).slice(0, 7))).size;
  return starts.map((start) => dayOf(start).slice(0, width / months > 52 ? 7 : 4));
}

function wordsOf(table: Table, row: number, column: number): string {
  const { rows, starts, by } = table;
  const { mean, headlines, state } = rows[row]![column]!;
  const parts = [
    mean !== null && score(mean),
    headlines > 0 && counted(headlines, 'headline'),
    (headlines === 0 || state !== 'covered') && stateWords(state, table),
  ];
  const title = bucketTitle(dayOf(starts[column]!), by);
  return `${title}: ${parts.filter(Boolean).join(' · ')}`;
}
