import { useMemo } from 'preact/hooks';
import type { IndexFeed } from '../../../../warehouse/questions/indices.ts';
import type { Bucket } from '../../../../warehouse/questions/sentiment.ts';
import { address, go } from '../../address.ts';
import { useAnswer, useTogether } from '../../api.ts';
import { type Chart, chartOf, groupedBySeries, type SentimentRow } from '../../draw/points.ts';
import { number, score } from '../../numbers.ts';
import { Answered, Source } from '../../parts.tsx';
import type { Row } from '../../rows.ts';
import { type Column, Table } from '../../table.tsx';
import { zone } from '../../time.ts';
import { mostLines } from '../sentiment/asked.ts';
import { Drawn } from '../sentiment/lines.tsx';
import { Numbers } from '../sentiment/lines-read.tsx';

type Point = Row<'index'>;
type Covered = Row<'coverage/days'>;

/** Shows an index over time: a line for each topic and model. */
export function IndexLines({
  feed,
  subject,
  days,
  end,
  by,
  isAsset,
  matches,
  series,
}: {
  feed: IndexFeed;
  subject: string;
  /** Days of whole buckets. */
  days: { readonly from: string; readonly to: string };
  /** The last day of the period. */
  end: string;
  by: Bucket;
  isAsset: boolean;
  /** Loaded match types. */
  matches: readonly string[];
  /** Loaded series of the subject. */
  series: readonly Row<'coverage'>[] | undefined;
}) {
  const index = useAnswer('index', { feed, subject, ...days, by });
  const all = (part: 'country' | 'topic' | 'ticker' | 'variant') =>
    [...new Set(series?.map((one) => one[part]))].slice(0, 100);
  const coverage = series && {
    ...{ feed, ...days, country: all('country'), topic: all('topic'), ticker: all('ticker') },
    ...{ variant: all('variant'), match_type: matches },
  };
  const covered = useAnswer('coverage/days', coverage);
  const events = useAnswer('news', isAsset ? { subject, kind: 'event', ...days, limit: 1000 } : undefined, 30)
    .answer?.rows;
  const moments = useMemo(() => events?.map(({ at }) => Date.parse(at)), [events]);
  const drawn = useTogether(
    [index, covered],
    ({ rows: points }, { rows: ranges }) => {
      const rows = points.map((point) => asSentiment(subject, point));
      const lines = linesOf(rows);
      const chosen = lines.filter(({ key }) => address.value.getAll('line').includes(key));
      const shown = (chosen.length > 0 ? chosen : lines).slice(0, mostLines);
      return { rows, lines, shown, chart: indexChart(feed, shown, rows, ranges, { ...days, end, by }) };
    },
    [address.value],
  );
  return (
    <Answered asked={drawn} empty={`No ${feed} of ${subject} is loaded from ${days.from} to ${days.to}.`}>
      {({ rows, lines, shown, chart }) => (
        <>
          <Drawn
            chart={chart}
            label={`${feed} of ${subject} by ${by}, ${days.from} to ${days.to}. Arrow keys read it out.`}
            {...(moments && { events: moments })}
          />
          <div class="row apart">
            <span class="quiet note">
              {[
                moments && moments.length > 0 && 'A tick above the lines is an event.',
                lines.length > shown.length && `${shown.length} of ${lines.length} lines are shown.`,
                rows.length === mostRows && `Only the first ${number(mostRows)} points: choose fewer days.`,
                by === 'hour' ? `Hours in ${zone.value}.` : 'Days are in UTC.',
              ]
                .filter(Boolean)
                .join(' ')}
            </span>
            <Source of={index} chart=".chart" />
          </div>
          {lines.length > mostLines && <AllLines lines={lines} shown={shown} chart={chart} />}
          <Numbers chart={chart} />
        </>
      )}
    </Answered>
  );
}

/** The most rows of an answer. */
const mostRows = 50_000;

/** A point of an index as if it were of headlines, so that it is drawn as those are, with the series that it is from. */
type IndexRow = SentimentRow & { readonly of: Pick<Point, 'match_type' | 'variant'> };

function asSentiment(country: string, point: Point): IndexRow {
  const { topic, match_type, variant, kind, at, mean, count } = point;
  // The values of these two say what they are of.
  const parameters = variant.split('&').map((one) => one.replace(/^(?:sentiment_type|model)=/, ''));
  const line = [match_type, kind, ...parameters].filter(Boolean).join(' ');
  const row = { country, topic, match_type: line, at, headlines: count, directional: mean, semantic: null };
  return { ...row, directional_error: null, semantic_error: null, of: { match_type, variant } };
}

/** A topic and a model of an index. */
type IndexLine = ReturnType<typeof linesOf>[number];

/** Returns the lines of an index, those with the most headlines first. */
function linesOf(rows: readonly IndexRow[]) {
  return [...groupedBySeries(rows)]
    .map(([key, points]) => {
      const count = points.reduce((sum, { headlines }) => sum + headlines, 0);
      const sum = points.reduce((sum, { directional, headlines }) => sum + (directional ?? 0) * headlines, 0);
      const { topic, match_type: line, of } = points[0]!;
      return { key, topic, line, of, count, mean: count > 0 ? sum / count : null };
    })
    .toSorted((a, b) => b.count - a.count || (a.key < b.key ? -1 : 1));
}

/** Puts the shown lines of an index into a chart. */
function indexChart(
  feed: IndexFeed,
  shown: readonly IndexLine[],
  rows: readonly SentimentRow[],
  covered: readonly Covered[],
  asked: { readonly from: string; readonly to: string; readonly end: string; readonly by: Bucket },
): Chart {
  const country = rows[0]?.country ?? '';
  const ranges = shown.flatMap(({ topic, line, of }) =>
    covered
      .filter(
        (range) =>
          (range.topic === '' || range.topic === topic) &&
          range.match_type === of.match_type &&
          range.variant === of.variant,
      )
      .toSorted((a, b) => (a.first_day < b.first_day ? -1 : 1))
      .map((range) => ({ ...range, country, topic, match_type: line })),
  );
  const series = shown.map(({ topic, line }) => ({ country, topic, match: line }));
  const chart = chartOf(rows, ranges, { ...asked, series, models: ['directional'], smooth: 1 });
  return {
    ...chart,
    lines: chart.lines.map((line) => ({ ...line, model: 'mean' })),
    counted: feed === 'ticker-event-metrics' ? 'event' : 'headline',
  };
}

/** Lists all lines, and chooses those that are drawn. */
function AllLines({
  lines,
  shown,
  chart: { counted },
}: {
  lines: readonly IndexLine[];
  shown: readonly IndexLine[];
  chart: Chart;
}) {
  const keys = shown.map(({ key }) => key);
  const flip = (key: string) => {
    const next = keys.includes(key) ? keys.filter((one) => one !== key) : [...keys, key];
    go({ line: next.slice(-mostLines) }, 'replace');
  };
  const columns: Column<IndexLine>[] = [
    {
      title: 'shown',
      show: ({ key, topic, line }) => (
        <input
          type="checkbox"
          aria-label={`Show ${topic} ${line}`}
          checked={keys.includes(key)}
          onChange={() => flip(key)}
        />
      ),
    },
    { title: 'topic', kind: 'head', by: ({ topic }) => topic },
    { title: 'model', by: ({ line }) => line },
    { title: `${counted}s`, kind: 'number', by: ({ count }) => count },
    { title: 'mean', kind: 'number', show: ({ mean }) => score(mean), by: ({ mean }) => mean },
  ];
  return (
    <details class="numbers">
      <summary>All {lines.length} lines</summary>
      <Table label="All lines" rows={lines} columns={columns} keyOf={({ key }) => key} sort="lines" />
    </details>
  );
}
