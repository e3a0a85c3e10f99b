import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { coveredDays } from '../../../../warehouse/questions/coverage.ts';
import type { sentimentByTopic } from '../../../../warehouse/questions/sentiment.ts';
import { go } from '../../address.ts';
import { addressOf, type Parameters, useAnswer, type Wire } from '../../api.ts';
import { bucketTitle, endOf, wholeBuckets } from '../../buckets.ts';
import { useWidth } from '../../draw/canvas.ts';
import { isDark } from '../../draw/colours.ts';
import { limitOf } from '../../draw/diverging.ts';
import { type Cell, drawHeat, type Heat, headHeight, leftOf, rowHeight } from '../../draw/heat.ts';
import { number, score } from '../../numbers.ts';
import { Problem, Source } from '../../parts.tsx';
import type { Row } from '../../rows.ts';
import { type Asked, feed, newsOf } from './asked.ts';
import { Scale } from './scale.tsx';
import './heat.css';

export interface Topic {
  readonly name: string;
  readonly category: string;
}

const aDay = 86_400_000;
/** Least width of a week in pixels; below it, months are shown. */
const narrowest = 5;

/** Shows topics by week, or by month if there are too many weeks: colour is the mean, strength the number of headlines. */
export function HeatMap({ asked, topics }: { asked: Asked; topics: readonly Topic[] }) {
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box);
  const labels = Math.min(250, Math.round(width * 0.42));
  const inner = width - labels;
  const weeks = (Date.parse(asked.to) - Date.parse(asked.from)) / aDay / 7;
  const by = weeks * narrowest > inner ? 'month' : 'week';
  const days = wholeBuckets(asked.from, asked.to, by);
  const names = topics.map(({ name }) => name).slice(0, 100);
  const lists = { country: asked.countries, topic: names, match_type: asked.matches };
  const parameters: Parameters = { ...lists, ...days, by, as_of: asked.asOf };
  const daysAsked: Parameters = { feed, ...lists, ...days, as_of: asked.asOf };
  const isReady = width > 0 && names.length > 0;
  const sentiment = useAnswer<Row<typeof sentimentByTopic>>(
    'sentiment/topics',
    isReady ? parameters : undefined,
  );
  const covered = useAnswer<Row<typeof coveredDays>>('coverage/days', isReady ? daysAsked : undefined);
  const isCurrent =
    sentiment.answer?.url === addressOf('sentiment/topics', parameters) &&
    covered.answer?.url === addressOf('coverage/days', daysAsked);
  const fresh = useMemo(() => {
    if (!isCurrent) return undefined;
    const series = asked.countries.length * asked.matches.length;
    return tableOf(sentiment.answer!.rows, covered.answer!.rows, topics, {
      ...{ ...days, by, series, model: asked.models[0]! },
    });
  }, [isCurrent, sentiment.answer, covered.answer, topics.length, asked.models[0]]);
  const last = useRef<Table>(undefined);
  if (fresh) last.current = fresh;
  const error = sentiment.error ?? covered.error;
  return (
    <div ref={box}>
      {error && <Problem error={error} />}
      <div class="row below">
        <span class="quiet note">
          Mean {asked.models[0]} score by {by} of {asked.countries.join(', ')}
          {asked.countries.length > 1 && ' together'}
          {newsOf(asked)}; the stronger a colour, the more headlines. A click shows the topic’s line.
        </span>
        <Source path="sentiment/topics" parameters={parameters} sql={sentiment.answer?.sql} />
      </div>
      {last.current ? (
        <div class={fresh && !error ? undefined : 'stale'}>
          <Drawn table={last.current} width={inner} labels={labels} />
          <Scale limit={last.current.limit} isDotted={false} />
        </div>
      ) : (
        !error && <p class="quiet waiting">Asking …</p>
      )}
    </div>
  );
}

/** Rows in order: a category, then its topics. */
interface Table extends Heat {
  readonly by: 'week' | 'month';
  readonly titles: readonly { readonly text: string; readonly isTopic: boolean }[];
}

interface TableAsked {
  readonly from: string;
  readonly to: string;
  readonly by: 'week' | 'month';
  /** How many series a cell sums up. */
  readonly series: number;
  readonly model: 'directional' | 'semantic';
}

function tableOf(
  rows: readonly Wire<Row<typeof sentimentByTopic>>[],
  covered: readonly Wire<Row<typeof coveredDays>>[],
  topics: readonly Topic[],
  { from, to, by, series, model }: TableAsked,
): Table {
  const starts: number[] = [];
  const end = Date.parse(to) + aDay;
  for (let start = Date.parse(from); start < end; start = endOf(start, by)) starts.push(start);
  const found = new Map(rows.map((row) => [`${row.topic} ${row.at}`, row]));
  const cellsOf = (topic: string): Cell[] => {
    const ranges = covered.filter((range) => range.topic === topic);
    return starts.map((start) => {
      const stop = Math.min(endOf(start, by), end);
      const row = found.get(`${topic} ${new Date(start).toISOString().slice(0, 10)}`);
      const days = ranges.reduce(
        (sum, { first_day, last_day }) => sum + common(start, stop, first_day, last_day),
        0,
      );
      const all = ((stop - start) / aDay) * series;
      const state = days >= all ? 'covered' : days > 0 || row ? 'incomplete' : 'missing';
      return { mean: row?.[model] ?? null, headlines: row?.headlines ?? 0, state };
    });
  };
  const titles: { text: string; isTopic: boolean }[] = [];
  for (const [index, { name, category }] of topics.entries()) {
    if (category && category !== topics[index - 1]?.category) titles.push({ text: category, isTopic: false });
    titles.push({ text: name, isTopic: true });
  }
  const cells = titles.map(({ text, isTopic }) => (isTopic ? cellsOf(text) : undefined));
  const counts = rows.map(({ headlines }) => headlines).toSorted((a, b) => a - b);
  // Ignores extremes: a few weeks with hardly any headlines would make all others pale.
  const means = rows.map((row) => Math.abs(row[model] ?? 0)).toSorted((a, b) => a - b);
  const usual = means.slice(0, Math.ceil(means.length * 0.97));
  const full = counts[Math.floor(counts.length * 0.9)] ?? 1;
  return { by, starts, titles, rows: cells, limit: limitOf(usual), full };
}

/** Counts the days that a bucket and a range have in common. */
function common(start: number, stop: number, first: string, last: string): number {
  return Math.max(0, (Math.min(stop, Date.parse(last) + aDay) - Math.max(start, Date.parse(first))) / aDay);
}

interface Place {
  readonly row: number;
  readonly column: number;
}

function Drawn({ table, width, labels }: { table: Table; width: number; labels: number }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [at, setAt] = useState<Place | null>(null);
  const dark = isDark.value;
  const columns = table.starts.length;
  useEffect(() => drawHeat(canvas.current!, table, width), [table, width, dark]);
  const openLine = (row: number) =>
    go({ show: 'lines', topic: table.titles[row]!.text, by: table.by, at: null, of: null, hide: null });
  const placeOf = ({ offsetX, offsetY }: MouseEvent): Place | null => {
    const row = Math.floor((offsetY - headHeight) / rowHeight);
    const column = Math.min(columns - 1, Math.max(0, Math.floor((offsetX / width) * columns)));
    return table.titles[row]?.isTopic ? { row, column } : null;
  };
  // The first key press selects the first topic.
  const first = { row: table.titles.findIndex(({ isTopic }) => isTopic), column: columns - 1 };
  const move = (rows: number, to: (column: number) => number) => {
    const from = at ?? first;
    let row = from.row + (at ? rows : 0);
    while (table.titles[row] && !table.titles[row]!.isTopic) row += rows;
    const column = Math.min(columns - 1, Math.max(0, to(from.column)));
    setAt({ row: table.titles[row] ? row : from.row, column });
  };
  const onKey = (event: KeyboardEvent) => {
    const stay = (column: number) => column;
    if (event.key === 'ArrowDown') move(1, stay);
    else if (event.key === 'ArrowUp') move(-1, stay);
    else if (event.key === 'ArrowLeft') move(0, (column) => column - 1);
    else if (event.key === 'ArrowRight') move(0, (column) => column + 1);
    else if (event.key === 'Home') move(0, () => 0);
    else if (event.key === 'End') move(0, () => columns - 1);
    else if (event.key === 'Enter' && at) openLine(at.row);
    else if (event.key === 'Escape') setAt(null);
    else return;
    event.preventDefault();
  };
  return (
    <div class="heat" style={{ gridTemplateColumns: `${labels}px minmax(0, 1fr)` }}>
      <div class="titles" style={{ paddingTop: `${headHeight}px` }}>
        {table.titles.map(({ text, isTopic }, row) =>
          isTopic ? (
            <button key={text} type="button" class="flat" title={text} onClick={() => openLine(row)}>
              {text}
            </button>
          ) : (
            <span key={text} class="quiet">
              {text}
            </span>
          ),
        )}
      </div>
      <div
        class="cells"
        role="application"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: arrow keys move its cursor
        tabIndex={0}
        aria-label={`Sentiment by topic and ${table.by}. Arrow keys read it out, Enter shows the line of a topic.`}
        onKeyDown={onKey}
        onBlur={() => setAt(null)}
      >
        <canvas
          ref={canvas}
          onPointerMove={(event) => setAt(placeOf(event))}
          onPointerLeave={() => setAt(null)}
          onClick={(event) => {
            const place = placeOf(event);
            if (place) openLine(place.row);
          }}
        />
        {at && <Said table={table} at={at} width={width} />}
      </div>
    </div>
  );
}

/** Describes the cell under the cursor. */
function Said({ table, at: { row, column }, width }: { table: Table; at: Place; width: number }) {
  const { mean, headlines, state } = table.rows[row]![column]!;
  const left = leftOf(column, table.starts.length, width);
  const right = leftOf(column + 1, table.starts.length, width);
  const top = headHeight + row * rowHeight;
  const title = bucketTitle(new Date(table.starts[column]!).toISOString().slice(0, 10), table.by);
  const parts = [
    mean !== null && score(mean),
    headlines > 0 && `${number(headlines)} headline${headlines === 1 ? '' : 's'}`,
    { covered: headlines === 0 && 'no news', incomplete: 'not complete', missing: 'not loaded' }[state],
  ];
  const side = left > width / 2 ? { right: `${width - left + 8}px` } : { left: `${right + 8}px` };
  return (
    <>
      <div
        class="cursor"
        style={{
          left: `${left - 1}px`,
          top: `${top - 1}px`,
          width: `${right - left + 1}px`,
          height: `${rowHeight + 1}px`,
        }}
      />
      <div class="readout" role="status" style={{ ...side, top: `${top + rowHeight + 4}px` }}>
        <strong>{table.titles[row]!.text}</strong>
        <div>
          {title}: {parts.filter(Boolean).join(' · ')}
        </div>
      </div>
    </>
  );
}
