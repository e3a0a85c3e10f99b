import { useMemo } from 'preact/hooks';
import { address, chosen, go } from '../../address.ts';
import { type Answer, type Parameters, question, type Together, useAnswer, useTogether } from '../../api.ts';
import { buckets, bucketTitle, endOf, startOf } from '../../buckets.ts';
import { Choose } from '../../choose.tsx';
import { type Chart, chartOf, groupedBySeries, type SentimentRow } from '../../draw/points.ts';
import type { Bucket, IndexFeed, NewsKind } from '../../loader.ts';
import { counted, number, score } from '../../numbers.ts';
import { Answered, Controls, Link, Period, Problem, Select, Switch, Titled, useTitle } from '../../parts.tsx';
import { daysOfFeeds, namesOf, type Row, variantTitle } from '../../rows.ts';
import { Share } from '../../share.tsx';
import { type Column, Table } from '../../table.tsx';
import { dayOf, moment, periodFor, plusDays, today } from '../../time.ts';
import { mostLines } from './asked.ts';
import { HeadlineText } from './headlines.tsx';
import { Drawn } from './lines.tsx';
import { Numbers } from './numbers.tsx';
import { Shows } from './shows.tsx';

/** Complete by its type: without one of these feeds, the page does not compile. */
const indices: Readonly<Record<IndexFeed, true>> = {
  'gmsi-index': true,
  'regional-index': true,
  'global-index': true,
  'ticker-index': true,
  'ticker-event-metrics': true,
};
/** Feeds of news, and what they are called there. */
const news: Readonly<Record<string, NewsKind>> = {
  'macro-headlines': 'macro headline',
  'ticker-events': 'event',
  'ticker-headlines': 'headline',
  'ticker-event-headlines': 'event headline',
};
const feedNames = [...Object.keys(indices), ...Object.keys(news)];
const isIndex = (feed: string): feed is IndexFeed => feed in indices;
const isOfAssets = (feed: string) => feed.startsWith('ticker-');

type Loaded = Answer<'feeds'>['rows'];

const NothingLoaded = () => (
  <p class="empty">
    No index and no news of assets or countries is loaded yet. <code>npx gmsi plan &lt;job&gt;</code> says
    what loading a job costs, without a request: of the examples <code>ticker-index.yaml</code> or{' '}
    <code>gmsi-index.yaml</code>, for instance.
  </p>
);

/** Shows the feeds that other views do not: indices as lines, and news of assets and countries. */
export function Feeds() {
  return <Answered asked={useAnswer('feeds', {}, 30)} as={AnyFeed} />;
}

function AnyFeed({ rows }: Answer<'feeds'>) {
  const loaded = feedNames.filter((name) => rows.some(({ feed }) => feed === name));
  const feed = loaded.find((name) => name === address.value.get('feed')) ?? loaded[0];
  if (feed === undefined) return <NothingLoaded />;
  return <OfFeed key={feed} {...{ loaded, feed }} of={rows.filter((one) => one.feed === feed)} />;
}

/** What another subject or feed forgets. */
const noLine = { line: null, at: null, of: null };

function OfFeed({ loaded, feed, of }: { loaded: readonly string[]; feed: string; of: Loaded }) {
  const { oldest = today(), newest: last = today() } = daysOfFeeds(of);
  const newest = last > today() ? today() : last;
  const series = useAnswer(
    'coverage',
    isIndex(feed)
      ? {
          feed,
          match_type: of.toSorted((a, b) => b.series - a.series)[0]!.match_type,
          from: oldest,
          to: newest,
        }
      : undefined,
    30,
  );
  const isAsset = isOfAssets(feed);
  const listed = useAnswer('feeds/subjects', { feed }, 30);
  const names = namesOf(useAnswer('series', {}, 60).answer?.rows, isAsset ? 'ticker' : 'country');
  const subjects = listed.answer?.rows;
  const usual = subjects?.toSorted((a, b) => b.rows - a.rows)[0]?.subject;
  const subject = address.value.get('subject') ?? usual;
  const { from, to } = periodFor(newest, oldest, (to) => [oldest, plusDays(to, -89)].toSorted()[1]!);
  const by = chosen('by', buckets, 'day');
  const days = { from, to };
  const error = listed.error ?? series.error;
  useTitle('Explore', subject, feed);
  return (
    <>
      <Controls chosen={[feed, subject, `${from} to ${to}`, isIndex(feed) && `by ${by}`]}>
        <div class="row asked">
          <Shows />
          <Select
            label="Feed"
            title="feed"
            value={feed}
            values={loaded.map((name) => [name, name])}
            onChange={(feed) =>
              go({ feed, kind: null, ...noLine, ...(isAsset && isOfAssets(feed) ? {} : { subject: null }) })
            }
          />
          <Choose
            label={isAsset ? 'Asset' : 'Country'}
            choices={(subjects ?? []).map(({ subject: code, rows }) => ({
              code,
              name: names.get(code),
              note: `${number(rows)} rows`,
            }))}
            chosen={subject ? [subject] : []}
            atMost={1}
            onChange={([subject]) => go({ subject: subject ?? null, ...noLine })}
          />
          <Period from={from} to={to} oldest={oldest} newest={newest} />
          {isIndex(feed) && <Switch label="Mean by" name="by" value={by} values={buckets} />}
        </div>
      </Controls>
      {error && <Problem error={error} />}
      {subject === undefined ? (
        <p class={subjects ? 'empty' : 'quiet waiting'}>
          {subjects
            ? `No rows of ${feed} are loaded yet. A job such as the example ${feed}.yaml loads it.`
            : 'Asking …'}
        </p>
      ) : (
        <>
          {isIndex(feed) && (
            <IndexLines
              key={`${feed} ${subject}`}
              {...{ feed, subject, days, by }}
              matches={of.map(({ match_type }) => match_type)}
              series={series.answer?.rows.filter(
                // A macro index names no country.
                ({ country, ticker }) => (country || ticker || subject) === subject,
              )}
            />
          )}
          {(isAsset || !isIndex(feed)) && (
            <News
              subject={subject}
              name={names.get(subject) ?? subject}
              days={days}
              by={isIndex(feed) ? by : 'day'}
              usually={news[feed] ?? 'all'}
            />
          )}
        </>
      )}
    </>
  );
}

type Point = Row<'index'>;
type Covered = Row<'coverage/days'>;

/** What the lines of an index are about. */
interface About {
  readonly feed: IndexFeed;
  readonly subject: string;
  readonly days: { readonly from: string; readonly to: string };
  readonly by: Bucket;
  /** What is loaded of the subject, by part of a series. */
  readonly series: Readonly<Record<(typeof parts)[number] | 'match_type', readonly string[]>>;
}

const parts = ['country', 'topic', 'ticker', 'variant'] as const;

function questionsOf({ feed, subject, days, by, series }: About) {
  return {
    index: question('index', { feed, subject, ...days, by }),
    covered: question('coverage/days', { feed, ...days, ...series }),
  };
}

/** Shows an index over time: a line for each topic and model. */
function IndexLines(
  props: Omit<About, 'series'> & {
    /** Loaded match types. */
    matches: readonly string[];
    /** Loaded series of the subject. */
    series: readonly Row<'coverage'>[] | undefined;
  },
) {
  const { matches: match_type, series, ...others } = props;
  const all = (part: (typeof parts)[number]) => [...new Set(series?.map((one) => one[part]))].slice(0, 100);
  const [country, topic, ticker, variant] = parts.map(all) as [string[], string[], string[], string[]];
  const about = series && { ...others, series: { country, topic, ticker, variant, match_type } };
  return <Answered asked={useTogether(about, questionsOf)} as={Shown} />;
}

function Shown({ about, index, covered }: Together<About, ReturnType<typeof questionsOf>>) {
  const { feed, subject, days, by } = about;
  const { rows, lines, shown, chart } = useMemo(() => {
    const rows = index.rows.map((point) => asSentiment(subject, point));
    const lines = linesOf(rows);
    const chosen = lines.filter(({ key }) => address.value.getAll('line').includes(key));
    const shown = (chosen.length > 0 ? chosen : lines).slice(0, mostLines);
    const chart = indexChart(feed, shown, rows, covered.rows, { ...days, by });
    return { rows, lines, shown, chart };
  }, [about, index, covered, address.value]);
  if (rows.length === 0)
    return (
      <p class="empty">
        No {feed} of {subject} is loaded from {days.from} to {days.to}.
      </p>
    );
  return (
    <>
      {lines.length > mostLines && (
        <Choose
          label="Lines"
          choices={lines.map(({ key, topic, line, count }) => ({
            code: key,
            name: `${topic} ${line}`,
            title: `${topic} ${line}`,
            note: counted(count, chart.counted),
          }))}
          chosen={shown.map(({ key }) => key)}
          atMost={mostLines}
          onChange={(line) => go({ line }, 'replace')}
        />
      )}
      <Titled title={`${subject}: ${feed} by ${by}, ${days.from} to ${days.to}`}>
        Index: mean score of the {chart.counted}s, +1 if all are wholly positive, −1 if all are wholly
        negative.
      </Titled>
      <Drawn
        chart={chart}
        label={`${feed} of ${subject} by ${by}, ${days.from} to ${days.to}. Arrow keys read it out.`}
        of={index}
        notes={[
          lines.length > shown.length && `${shown.length} of ${lines.length} lines are shown.`,
          rows.length === mostRows && `Only the first ${number(mostRows)} points: choose fewer days.`,
        ]}
      />
      <details>
        <summary>Numbers</summary>
        <Numbers chart={chart} />
      </details>
      {feed === 'gmsi-index' && address.value.has('at') && (
        <Link to={headlinesOf(subject, shown)}>Headlines of {bucketTitle(address.value.get('at')!, by)}</Link>
      )}
    </>
  );
}

/** The address of the headlines behind the open point of an index. */
function headlinesOf(country: string, shown: readonly IndexLine[]) {
  const { topic } = shown.find(({ key }) => key === address.value.get('of')) ?? shown[0]!;
  return { show: null, country, topic, match_type: null, of: null };
}

/** The most rows of an answer. */
const mostRows = 50_000;

/** A point of an index as if it were of headlines, so that it is drawn as those are, with the series that it is from. */
type IndexRow = SentimentRow & {
  readonly all_count: number;
  readonly of: Pick<Point, 'match_type' | 'variant'>;
};

function asSentiment(country: string, point: Point): IndexRow {
  const { topic, match_type, variant, kind, at, mean, count } = point;
  const line = [match_type, kind, variantTitle(variant)].filter(Boolean).join(' ');
  return {
    ...{ country, topic, match_type: line, at, all_count: count, of: { match_type, variant } },
    ...{ directional: mean, directional_count: count, directional_sum: mean && mean * count },
    ...{ semantic: null, semantic_count: null, semantic_sum: null },
    ...{ directional_error: null, semantic_error: null },
  };
}

/** A topic and a model of an index. */
type IndexLine = ReturnType<typeof linesOf>[number];

/** Returns the lines of an index, those with the most headlines first. */
function linesOf(rows: readonly IndexRow[]) {
  return [...groupedBySeries(rows)]
    .map(([key, points]) => {
      const { topic, match_type: line, of } = points[0];
      return { key, topic, line, of, count: points.reduce((sum, { all_count }) => sum + all_count, 0) };
    })
    .toSorted((a, b) => b.count - a.count || (a.key < b.key ? -1 : 1));
}

/** Puts the shown lines of an index into a chart. */
function indexChart(
  feed: IndexFeed,
  shown: readonly IndexLine[],
  rows: readonly SentimentRow[],
  covered: readonly Covered[],
  asked: { readonly from: string; readonly to: string; readonly by: Bucket },
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
  const chart = chartOf(rows, ranges, { ...asked, series, model: 'directional', smooth: 1 });
  return {
    ...chart,
    model: 'mean',
    counted: feed === 'ticker-event-metrics' ? 'event' : 'headline',
  };
}

const kinds = { all: 'all', event: 'events', headline: 'headlines', 'event headline': 'headlines on events' };
const limit = 1000;

const columns: Column<Row<'news'>>[] = [
  { title: 'time', kind: 'time', show: ({ at }) => moment(at), by: ({ at }) => at },
  { title: 'kind', kind: 'nowrap', by: ({ kind }) => kind },
  {
    title: 'text',
    kind: 'text',
    show: (row) => <HeadlineText {...row} />,
  },
  { title: 'about', by: ({ topic }) => topic },
  { title: 'impact', by: ({ impact }) => impact },
  {
    title: 'score',
    kind: 'number',
    show: (row) => (row.score === null ? '' : score(row.score)),
    by: (row) => row.score,
  },
];

/** Lists events and headlines of an asset, or macro headlines of a country, in a period or in the open bucket of the chart. */
function News(props: {
  subject: string;
  name: string;
  days: { readonly from: string; readonly to: string };
  by: Bucket;
  /** What is listed if the address does not say. */
  usually: NewsKind | 'all';
}) {
  const { subject, name, days, by, usually } = props;
  const isMacro = usually === 'macro headline';
  const kind = isMacro ? usually : chosen('kind', kinds, usually);
  const at = address.value.get('at')?.slice(0, 10) ?? '';
  const isOpen = !Number.isNaN(Date.parse(at));
  const unit = by === 'hour' ? 'day' : by;
  const start = isOpen ? startOf(at, unit) : days.from;
  const end = isOpen ? dayOf(endOf(Date.parse(start), unit) - 1) : days.to;
  // The period may cut the bucket.
  const [first, last] = [start < days.from ? days.from : start, end > days.to ? days.to : end];
  const named = kind === 'all' ? null : kind;
  const asked = useTogether(
    {
      ...{ name, isMacro, first, last },
      title: isOpen ? ` of ${bucketTitle(start, unit)}` : '',
      of: { subject, kind: named, from: first, to: last, limit },
    },
    newsOf,
  );
  return (
    <section class="headlines panel" aria-label={`News of ${name}`}>
      <div class="row">
        {kind !== 'macro headline' && <Switch label="Kind" name="kind" value={kind} values={kinds} />}
        {isOpen && (
          <button type="button" onClick={() => go({ at: null, of: null })}>
            Whole period
          </button>
        )}
      </div>
      <Answered asked={asked} as={Listed} />
    </section>
  );
}

interface AboutNews {
  readonly name: string;
  readonly title: string;
  readonly isMacro: boolean;
  readonly first: string;
  readonly last: string;
  readonly of: Parameters;
}

function newsOf({ of }: AboutNews) {
  return { news: question('news', of) };
}

function Listed({ about, news }: Together<AboutNews, ReturnType<typeof newsOf>>) {
  const { name, title, isMacro, first, last } = about;
  const { rows } = news;
  return (
    <>
      <div class="row">
        <h2>
          News of {name}
          {title}
        </h2>
        <Share of={news} />
      </div>
      {rows.length === limit && <p class="quiet">The latest 1,000. Choose fewer days to see others.</p>}
      {rows.length === 0 ? (
        <p class="empty">
          No news of {name} is loaded from {first} to {last}.{' '}
          {isMacro
            ? 'A job of macro-headlines loads it.'
            : 'Jobs of ticker-events, ticker-headlines and ticker-event-headlines load it.'}
        </p>
      ) : (
        <Table
          label="News"
          kind="news"
          rows={rows}
          columns={columns.filter(
            ({ title, by }) => title === 'text' || rows.some((row) => (by?.(row) ?? '') !== ''),
          )}
          keyOf={(row) => `${row.kind} ${row.at} ${row.text} ${row.source} ${row.topic}`}
          sort="news"
          first={50}
        />
      )}
    </>
  );
}
