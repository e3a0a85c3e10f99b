import { useMemo, useRef } from 'preact/hooks';
import { go } from '../../address.ts';
import { type AnswersTo, question, useTogether } from '../../api.ts';
import { bucketText, bucketTitle, startsOf } from '../../buckets.ts';
import type { Model } from '../../draw/points.ts';
import { colourOf, fullOf, limitOf, strengthOf } from '../../draw/scales.ts';
import { Grid } from '../../grid.tsx';
import type { Cell, CellAt, GridRow } from '../../grid-layout.ts';
import { counted, score } from '../../numbers.ts';
import { Answered, Swatch, Titled, useWidth } from '../../parts.tsx';
import type { Row } from '../../rows.ts';
import { Noted } from '../../share.tsx';
import { aDay, dayOf, moment, zone } from '../../time.ts';
import { AsOf } from './as-of.tsx';
import { type Asked, newsOf } from './asked.ts';

export interface Topic {
  readonly name: string;
  readonly category: string;
}

/** Least width of a week in pixels; below it, months are shown. */
const narrowest = 5;

/** Shows topics by week, or by month if there are too many weeks: colour is the mean, strength the number of headlines. */
export function HeatMap({
  asked,
  topics,
  countries,
}: {
  asked: Asked;
  topics: readonly Topic[];
  countries: string;
}) {
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box);
  const inner = width - Math.min(250, width * 0.42);
  const weeks = (Date.parse(asked.to) - Date.parse(asked.from)) / aDay / 7;
  const by = weeks * narrowest > inner ? 'month' : 'week';
  const about = { ...asked, by, topics: topics.slice(0, 100), title: countries, inner } as const;
  return (
    <div ref={box}>
      <Answered
        asked={useTogether(width > 0 && topics.length > 0 ? about : undefined, questionsOf)}
        as={Shown}
      />
    </div>
  );
}

type About = Omit<Asked, 'by' | 'topics'> & {
  readonly by: 'week' | 'month';
  readonly topics: readonly Topic[];
  readonly title: string;
  /** The room for cells in pixels. */
  readonly inner: number;
};

function questionsOf({ from, to, by, countries, topics, matches, asOf }: About) {
  const lists = { country: countries, topic: topics.map(({ name }) => name), match_type: matches };
  return { means: question('sentiment/topics', { ...lists, from, to, by, as_of: asOf }) };
}

function Shown({ about, means }: AnswersTo<typeof questionsOf>) {
  const { title, from, to, by, countries, inner, asOf, model } = about;
  const table = useMemo(() => tableOf(means.rows, about.topics, { from, to, by, model }), [about, means]);
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
      <Drawn table={table} width={inner} />
      <Scale limit={table.limit} />
      <AsOf isLines={false} asOf={asOf} />
    </>
  );
}

type Table = ReturnType<typeof tableOf>;
type Bucket = NonNullable<Table['rows'][number]>[number];

function tableOf(
  rows: readonly Row<'sentiment/topics'>[],
  topics: readonly Topic[],
  asked: {
    readonly from: string;
    readonly to: string;
    readonly by: 'week' | 'month';
    readonly model: Model;
  },
) {
  const { from, to, by, model } = asked;
  const starts = startsOf(from, to, by);
  const found = new Map(rows.map((row) => [`${row.topic} ${row.at}`, row]));
  const bucketsOf = (topic: string) =>
    starts.map((start) => {
      const row = found.get(`${topic} ${dayOf(start)}`);
      return {
        mean: row?.[model] ?? null,
        headlines: row?.all_count ?? 0,
        state: row?.state ?? 'not loaded',
      };
    });
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
  const full = fullOf(rows.map(({ all_count }) => all_count ?? 0));
  return { by, starts, titles, rows: cells, limit: limitOf(usual), full };
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
  );
}

/** Returns how a bucket is drawn, in few enough colours and strengths. */
function cellOf({ mean, headlines, state }: Bucket, limit: number, full: number): Cell {
  const mark = isWhole(state) ? undefined : 'hatch';
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
    headlines === 0 && state !== 'not loaded' && 'no news',
    state === 'not loaded' ? state : loadedWords(state),
  ];
  const title = bucketTitle(dayOf(starts[column]!), by);
  return `${title}: ${parts.filter(Boolean).join(' · ')}`;
}

/** True if all that there is was loaded, so that no headlines are no news. */
function isWhole(state: string): boolean {
  return state === 'covered' || state === 'settling';
}

/** Says what may be missing of a mean; nothing if nothing is. */
function loadedWords(state: string): string | undefined {
  return { settling: 'may still change', partial: 'loaded in part' }[state];
}

/** Explains the colours of means, and what is drawn without colour. */
function Scale({ limit }: { limit: number }) {
  return (
    <div class="row tight small legend">
      <span class="quiet">negative, −{limit} or less</span>
      <span class="ramp" aria-hidden="true" />
      <span class="quiet">positive, +{limit} or more</span>
      <span class="quiet">
        <Swatch kind="hatched" />
        not loaded, or in part
      </span>
      <span class="quiet">
        <Swatch kind="blank" />
        no news
      </span>
    </div>
  );
}
