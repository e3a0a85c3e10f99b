import type { IndexFeed, NewsKind } from '../../../../warehouse/questions/indices.ts';
import { address, chosen, go } from '../../address.ts';
import { type Answer, useAnswer } from '../../api.ts';
import { buckets, wholeBuckets } from '../../buckets.ts';
import { Choose } from '../../choose.tsx';
import { daysOfFeeds, namesOf } from '../../loaded.ts';
import { number } from '../../numbers.ts';
import { Answered, Controls, Period, Problem, Select, Switch, useTitle } from '../../parts.tsx';
import { periodFor, plusDays, today } from '../../time.ts';
import { IndexLines } from './index-lines.tsx';
import { News } from './news.tsx';

/** What the subjects of each feed are. */
const indices: Readonly<Record<IndexFeed, 'Country' | 'Asset'>> = {
  'gmsi-index': 'Country',
  'regional-index': 'Country',
  'global-index': 'Country',
  'ticker-index': 'Asset',
  'ticker-event-metrics': 'Asset',
};
/** Feeds of news, and what they are called there. */
const news: Readonly<Record<string, NewsKind>> = {
  'macro-headlines': 'macro headline',
  'ticker-events': 'event',
  'ticker-headlines': 'headline',
  'ticker-event-headlines': 'event headline',
};
const feedNames = [...Object.keys(indices), ...Object.keys(news)];

type Loaded = Answer<'feeds'>['rows'];

/** Shows the feeds that other views do not: indices as lines, and news of assets and countries. */
export function Feeds() {
  const feeds = useAnswer('feeds', {}, 30);
  return (
    <>
      <h1>Feeds</h1>
      <Answered asked={feeds}>
        {({ rows }) => {
          const loaded = feedNames.filter((name) => rows.some(({ feed }) => feed === name));
          const feed = loaded.find((name) => name === address.value.get('feed')) ?? loaded[0];
          if (feed === undefined) return <NothingLoaded />;
          return <OfFeed key={feed} {...{ loaded, feed }} of={rows.filter((one) => one.feed === feed)} />;
        }}
      </Answered>
    </>
  );
}

function NothingLoaded() {
  useTitle('Feeds');
  return (
    <p class="empty">
      No index and no news of assets or countries is loaded yet. <code>npx gmsi backfill &lt;job&gt;</code>{' '}
      loads those of a job, such as{' '}
      {feedNames.map((name, index) => (
        <>
          {index === 0 ? '' : index === feedNames.length - 1 ? ' or ' : ', '}
          <code>jobs/{name}.yaml</code>
        </>
      ))}
      .
    </p>
  );
}

function isIndex(feed: string): feed is IndexFeed {
  return Object.hasOwn(indices, feed);
}

function isOfAssets(feed: string): boolean {
  return isIndex(feed) ? indices[feed] === 'Asset' : news[feed] !== 'macro headline';
}

/** What another subject or feed forgets. */
const noLine = { line: null, hide: null, at: null, of: null };

function OfFeed({ loaded, feed, of }: { loaded: readonly string[]; feed: string; of: Loaded }) {
  const { oldest = today(), newest: last = today() } = daysOfFeeds(of);
  const newest = last > today() ? today() : last;
  const series = useAnswer(
    'coverage',
    { feed, match_type: of.toSorted((a, b) => b.series - a.series)[0]!.match_type, from: oldest, to: newest },
    30,
  );
  const isAsset = isOfAssets(feed);
  const hasSubjects = isIndex(feed) || !isAsset;
  const listed = useAnswer('feeds/subjects', hasSubjects ? { feed } : undefined, 30);
  const names = namesOf(useAnswer('series', {}, 60).answer?.rows, isAsset ? 'ticker' : 'country');
  const subjects = hasSubjects
    ? listed.answer?.rows
    : series.answer &&
      [...new Set(series.answer.rows.map(({ ticker }) => ticker))].map((subject) => ({ subject, rows: 0 }));
  const usual = subjects?.toSorted((a, b) => b.rows - a.rows)[0]?.subject;
  const subject = address.value.get('subject') ?? usual;
  const { from, to } = periodFor(newest, oldest, (to) => [oldest, plusDays(to, -89)].toSorted()[1]!);
  const by = chosen('by', buckets, 'day');
  const days = wholeBuckets(from, to, by);
  const error = listed.error ?? series.error;
  useTitle('Feeds', subject, feed);
  return (
    <>
      <Controls chosen={[feed, subject, `${from} to ${to}`, isIndex(feed) && `by ${by}`]}>
        <div class="row asked">
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
            choices={(subjects ?? []).map(({ subject: value, rows }) => ({
              value,
              title: [value, names.get(value)].filter(Boolean).join(' '),
              note: rows > 0 ? `${number(rows)} rows` : '',
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
            ? `No rows of ${feed} are loaded yet. A job such as jobs/${feed}.yaml loads it.`
            : 'Asking …'}
        </p>
      ) : (
        <>
          {isIndex(feed) && (
            <IndexLines
              key={`${feed} ${subject}`}
              {...{ feed, subject, days, end: to, by, isAsset }}
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
