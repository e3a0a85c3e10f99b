import { sum } from 'd3-array';
import { useMemo } from 'preact/hooks';
import { address, chosen, go } from '../../address.ts';
import { type Answer, type AnswersTo, question, useAnswer, useTogether } from '../../api.ts';
import { buckets, bucketTitle, endOf, startOf } from '../../buckets.ts';
import { Choose } from '../../choose.tsx';
import { type Chart, chartOf, groupedBySeries, type SentimentRow } from '../../draw/points.ts';
import type { Bucket, IndexFeed, NewsKind } from '../../loader.ts';
import { counted, number } from '../../numbers.ts';
import { Answered, Link, Period, Problem, Select, Switch, Titled, useTitle } from '../../parts.tsx';
import { daysOfFeeds, namesOf, type Row, variantTitle } from '../../rows.ts';
import { Share } from '../../share.tsx';
import { type Column, scored, Table } from '../../table.tsx';
import { dayOf, isDay, moment, periodFor, plusDays, today } from '../../time.ts';
import { mostLines } from './asked.ts';
import { HeadlineText } from './headlines.tsx';
import { Drawn } from './lines.tsx';
import { Numbers } from './numbers.tsx';
import { Shows } from './shows.tsx';

/** Complete by its type: without one of these feeds, the page does not compile. Of a feed of news, what is listed first. */
const feeds: Readonly<Record<IndexFeed, 'index'>> & Readonly<Record<string, NewsKind | 'index'>> = {
  'gmsi-index': 'index',
  'regional-index': 'index',
  'global-index': 'index',
  'ticker-index': 'index',
  'ticker-event-metrics': 'index',
  'macro-headlines': 'macro headline',
  'ticker-events': 'event',
  'ticker-headlines': 'headline',
  'ticker-event-headlines': 'event headline',
};
const isIndex = (feed: string): feed is IndexFeed => feeds[feed] === 'index';
const isOfAssets = (feed: string) => feed.startsWith('ticker-');

type Loaded = Answer<'feeds'>['rows'];

/** Shows the feeds that other views do not: indices as lines, and news of assets and countries. */
export function Feeds() {
  return <Answered asked={useAnswer('feeds', {}, 30)} as={AnyFeed} />;
}

function AnyFeed({ rows }: Answer<'feeds'>) {
  const loaded = Object.keys(feeds).filter((name) => rows.some(({ feed }) => feed === name));
  const feed = loaded.find((name) => name === address.value.get('feed')) ?? loaded[0];
  if (feed !== undefined)
    return <OfFeed key={feed} {...{ loaded, feed }} of={rows.filter((one) => one.feed === feed)} />;
  return (
    <>
      <Shows />
      <p class="empty">
        No index and no news of assets or countries is loaded yet. <code>npx gmsi plan &lt;job&gt;</code> says
        what loading a job costs, without a request: of the examples <code>ticker-index.yaml</code> or{' '}
        <code>gmsi-index.yaml</code>, for instance.
      </p>
    </>
  );
}

/** What another subject or feed forgets. */
const noLine = { line: null, at: null, of: null };

function OfFeed({ loaded, feed, of }: { loaded: readonly string[]; feed: string; of: Loaded }) {
  const { oldest = today(), newest: last = today() } = daysOfFeeds(of);
  const newest = last > today() ? today() : last;
  const isAsset = isOfAssets(feed);
  const listed = useAnswer('feeds/subjects', { feed }, 30);
  const names = namesOf(useAnswer('series', {}, 60).answer?.rows, isAsset ? 'ticker' : 'country');
  const subjects = listed.answer?.rows;
  const usual = subjects?.toSorted((a, b) => b.rows - a.rows)[0]?.subject;
  const subject = address.value.get('subject') ?? usual;
  const { from, to } = periodFor(newest, oldest, (to) => [oldest, plusDays(to, -89)].toSorted()[1]!);
  const by = chosen('by', buckets, 'day');
  const days = { from, to };
  const about = isIndex(feed) && subject && { feed, subject, days, by };
  const lines = useTogether(about || undefined, questionsOf);
  useTitle('Explore', subject, feed);
  return (
    <>
      <div class="row controls">
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
      {listed.error && <Problem error={listed.error} />}
      {subject === undefined ? (
        <p class={subjects ? 'empty' : 'quiet waiting'}>
          {subjects
            ? `No rows of ${feed} are loaded yet. A job such as the example ${feed}.yaml loads it.`
            : 'Asking …'}
        </p>
      ) : (
        <>
          {isIndex(feed) && <Answered asked={lines} as={Lines} />}
          {(isAsset || !isIndex(feed)) && (
            <News
              subject={subject}
              days={days}
              by={isIndex(feed) ? by : 'day'}
              usually={isIndex(feed) ? 'all' : (feeds[feed] as NewsKind)}
            />
          )}
        </>
      )}
    </>
  );
}

type Point = Row<'index'>;
type Covered = Row<'coverage/days'>;

function questionsOf(about: {
  readonly feed: IndexFeed;
  readonly subject: string;
  readonly days: { readonly from: string; readonly to: string };
  readonly by: Bucket;
}) {
  const { feed, subject, days, by } = about;
  return {
    index: question('index', { feed, subject, ...days, by }),
    covered: question('coverage/days', { feed, subject, ...days }),
  };
}

/** Shows an index over time: a line for each topic and model. */
function Lines({ about, index, covered }: AnswersTo<typeof questionsOf>) {
  const { feed, subject, days, by } = about;
  const { rows, lines, shown, chart } = useMemo(() => {
    const rows = index.rows.map((point) => asSentiment(subject, point));
    const lines = linesOf(rows);
    const chosen = lines.filter(({ name }) => address.value.getAll('line').includes(name));
    const shown = (chosen.length > 0 ? chosen : lines).slice(0, mostLines);
    const chart = indexChart(feed, shown, rows, covered.rows, { ...days, by });
    return { rows, lines, shown, chart };
  }, [about, index, covered, address.value]);
  const at = address.value.get('at');
  const open = shown.find(({ key }) => key === address.value.get('of')) ?? shown[0];
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
          choices={lines.map(({ name, count }) => ({ code: name, note: counted(count, chart.counted) }))}
          chosen={shown.map(({ name }) => name)}
          atMost={mostLines}
          onChange={(line) => go({ line }, 'replace')}
        />
      )}
      <Titled
        title={`${subject}: ${feed} by ${by}, ${days.from} to ${days.to}`}
        beside={<Share of={index} chart=".chart" from={days.from} />}
      >
        Index: mean score of the {chart.counted}s, +1 if all are wholly positive, −1 if all are wholly
        negative.
      </Titled>
      <Drawn
        chart={chart}
        label={`${feed} of ${subject} by ${by}, ${days.from} to ${days.to}. Arrow keys read it out.`}
        notes={[
          lines.length > shown.length && `${shown.length} of ${lines.length} lines are shown.`,
          rows.length === mostRows && `Only the first ${number(mostRows)} points: choose fewer days.`,
        ]}
      />
      <details>
        <summary>Numbers</summary>
        <Numbers chart={chart} />
      </details>
      {feed === 'gmsi-index' && at && (
        <Link to={{ show: null, country: subject, topic: open!.topic, match_type: null, of: null }}>
          Headlines of {bucketTitle(at, by)}
        </Link>
      )}
    </>
  );
}

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
  };
}

type IndexLine = ReturnType<typeof linesOf>[number];

/** Returns the lines of an index, those with the most headlines first. */
function linesOf(rows: readonly IndexRow[]) {
  return [...groupedBySeries(rows)]
    .map(([key, points]) => {
      const { topic, match_type: line, of } = points[0]!;
      return {
        key,
        name: `${topic} ${line}`,
        topic,
        line,
        of,
        count: sum(points, ({ all_count }) => all_count),
      };
    })
    .toSorted((a, b) => b.count - a.count || (a.key < b.key ? -1 : 1));
}

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
  { title: 'text', show: (row) => <HeadlineText {...row} /> },
  { title: 'about', by: ({ topic }) => topic },
  { title: 'impact', by: ({ impact }) => impact },
  scored('score', (row) => row.score),
];

/** Lists events and headlines of an asset, or macro headlines of a country, in a period or in the open bucket of the chart. */
function News(props: {
  subject: string;
  days: { readonly from: string; readonly to: string };
  by: Bucket;
  /** What is listed if the address does not say. */
  usually: NewsKind | 'all';
}) {
  const { subject, days, by, usually } = props;
  const kind = usually === 'macro headline' ? usually : chosen('kind', kinds, usually);
  const at = address.value.get('at')?.slice(0, 10) ?? '';
  const unit = by === 'hour' ? 'day' : by;
  const start = isDay(at) ? startOf(at, unit) : days.from;
  const end = isDay(at) ? dayOf(endOf(Date.parse(start), unit) - 1) : days.to;
  const asked = useAnswer('news', {
    ...{ subject, kind: kind === 'all' ? null : kind, limit },
    // The period may cut the bucket.
    from: start < days.from ? days.from : start,
    to: end > days.to ? days.to : end,
  });
  return (
    <section class="panel" aria-label={`News of ${subject}`}>
      <div class="row">
        {kind !== 'macro headline' && <Switch label="Kind" name="kind" value={kind} values={kinds} />}
        {isDay(at) && (
          <button type="button" onClick={() => go({ at: null, of: null })}>
            Whole period
          </button>
        )}
      </div>
      <Answered asked={asked} as={Listed} />
    </section>
  );
}

function Listed(news: Answer<'news'>) {
  const { rows, parameters } = news;
  const { subject, kind, from, to } = parameters;
  return (
    <>
      <div class="row">
        <h2>
          News of {subject}, {from === to ? from : `${from} to ${to}`}
        </h2>
        <Share of={news} />
      </div>
      {rows.length === limit && <p class="quiet">The latest 1,000. Choose fewer days to see others.</p>}
      {rows.length === 0 ? (
        <p class="empty">
          Nothing is loaded of these days.{' '}
          {kind === 'macro headline'
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
