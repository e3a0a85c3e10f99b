import type { ComponentChildren } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { address, go } from '../../address.ts';
import { type Answer, useAnswer } from '../../api.ts';
import { type Asked, cellsOf, daysOf, failures, type Shown, seriesIn, shownOf } from '../../draw/cells.ts';
import type { Place } from '../../grid-layout.ts';
import { number } from '../../numbers.ts';
import { Answered, Controls, Period, Problem, Select, Source, Switch, useTitle } from '../../parts.tsx';
import { daysBetween, periodFor } from '../../time.ts';
import './coverage.css';
import { Legend } from './legend.tsx';
import { Matrix } from './matrix.tsx';
import { Series, type SeriesShown } from './series.tsx';

/** Shows how complete the warehouse is: all series of a feed, and one of them beside it. */
export function Coverage() {
  const feeds = useAnswer('feeds', {});
  const listed = useAnswer('series', {}, 60);
  const asked = (name: string) => address.value.getAll(name).join(', ');
  useTitle('Coverage', asked('country') || asked('ticker'), asked('topic'));
  return (
    <>
      <h1>Coverage</h1>
      <Answered asked={feeds} empty={<NothingYet />}>
        {({ rows }) => <OfFeed feeds={rows} listed={listed.answer} />}
      </Answered>
      {listed.error && <Problem error={listed.error} />}
    </>
  );
}

function NothingYet() {
  return (
    <>
      Nothing has been loaded yet. <code>npx gmsi plan &lt;job&gt;</code> says what loading a job costs,{' '}
      <code>npx gmsi init</code> makes a job.
    </>
  );
}

type Feeds = Answer<'feeds'>['rows'];

function OfFeed({ feeds, listed }: { feeds: Feeds; listed: Answer<'series'> | undefined }) {
  const asked = (name: string) => address.value.get(name);
  const { feed, match_type, oldest, newest } =
    feeds.find((one) => one.feed === asked('feed') && one.match_type === asked('match_type')) ??
    feeds.find((one) => one.feed === (asked('feed') ?? 'gmsi-headlines')) ??
    feeds[0]!;
  const { from, to } = periodFor(newest, oldest, () => oldest);
  const parameters = { feed, match_type, from, to };
  const coverage = useAnswer('coverage', parameters, 2);
  const isStale = coverage.isAsking || coverage.error !== undefined;
  /** The row above the matrix, shown even without an answer. */
  const controls = (others?: ComponentChildren) => (
    <Controls chosen={[feed, match_type, `${from} to ${to}`]}>
      <div class="row">
        {feeds.length > 1 && <Feeds feeds={feeds} feed={feed} match_type={match_type} />}
        <Period from={from} to={to} oldest={oldest} newest={newest} />
        <span class="grow" />
        {others}
        <Source path="coverage" parameters={parameters} sql={coverage.answer?.sql} chart=".matrix" />
      </div>
    </Controls>
  );
  if (!coverage.answer || !listed)
    return (
      <>
        {controls()}
        <Answered asked={coverage}>{() => null}</Answered>
      </>
    );
  return (
    <>
      <Arranged {...parameters} {...{ answer: coverage.answer, listed, controls, isStale }} />
      {coverage.error && <Problem error={coverage.error} />}
    </>
  );
}

function Feeds({ feeds, feed, match_type }: { feeds: Feeds; feed: string; match_type: string }) {
  return (
    <Select
      label="Feed"
      title="feed"
      value={`${feed}/${match_type}`}
      values={feeds.map((one) => [
        `${one.feed}/${one.match_type}`,
        [one.feed, one.match_type].filter(Boolean).join(' · '),
      ])}
      onChange={(value) => {
        const [feed, match_type] = value.split('/') as [string, string];
        go({ feed, match_type, country: null, topic: null, ticker: null, variant: null });
      }}
    />
  );
}

/** Returns the groups that the address folds; `fold` without a value means none. */
function foldedGroups(groups: readonly string[], columns: number): ReadonlySet<string> {
  const asked = address.value.getAll('fold');
  if (asked.length > 0) return new Set(asked.filter(Boolean));
  return new Set(innerWidth < 600 && columns > 30 ? groups : []);
}

function Arranged({
  answer,
  listed,
  controls,
  isStale,
  ...asked
}: Asked & {
  answer: Answer<'coverage'>;
  listed: Answer<'series'>;
  controls: (others: ComponentChildren) => ComponentChildren;
  isStale: boolean;
}) {
  const { feed, match_type, from, to } = asked;
  const [reveal, setReveal] = useState<Place>();
  const cells = useMemo(
    () => cellsOf(feed, Math.max(1, daysBetween(from, to)), answer.rows, listed.rows),
    [answer, listed, feed, from, to],
  );
  const counted = seriesIn(cells);
  const isAsked = counted.asked / Math.max(1, cells.rows.length * cells.columns.length);
  const only = address.value.get('only') ?? (isAsked > 0 && isAsked < 1 / 3 ? 'asked' : 'all');
  const groups = [...new Set(cells.columns.map(({ group }) => group))].filter(Boolean);
  const isOnly = only === 'asked';
  const all = useMemo(() => shownOf(cells, isOnly, new Set()), [cells, isOnly]);
  const before = foldedGroups(groups, all.columns.length);
  const folding = [...before].join('\n');
  const shown = useMemo(() => (before.size > 0 ? shownOf(cells, isOnly, before) : all), [all, folding]);
  const failed = useMemo(() => failures(shown), [shown]);
  const series = openSeries(cells.by);
  const open = series && placeOf(shown, series);
  const openAt = ({ row, column }: Place) => {
    const { topic, variant } = cells.columns[column]!;
    const code = shown.rows[row]!.code;
    const isByCountry = cells.by === 'country';
    go({
      country: isByCountry ? code || null : null,
      ticker: isByCountry ? null : code || null,
      ...{ topic: topic || null, variant: variant || null },
    });
  };
  const fold = (group: string) => {
    const next = before.has(group) ? [...before].filter((one) => one !== group) : [...before, group];
    go({ fold: next.length > 0 ? next : [''] });
  };
  const toNextFailure = () => {
    const current =
      series &&
      failed.findIndex((place) => isSame(cells.columns[place.column]!, shown.rows[place.row]!.code, series));
    const next = failed[((current ?? -1) + 1) % failed.length]!;
    openAt(next);
    setReveal(placeOf(shown, { ...cells.columns[next.column]!, code: shown.rows[next.row]!.code }));
  };
  const days = daysOf(shown);
  return (
    <>
      {controls(
        <>
          {groups.length > 1 && (
            <button type="button" onClick={() => go({ fold: before.size > 0 ? [''] : groups })}>
              {before.size > 0 ? 'Unfold all' : 'Fold all'}
            </button>
          )}
          <Switch
            label="Which series"
            name="only"
            value={only}
            values={{ asked: 'only what was requested', all: 'all series' }}
          />
        </>,
      )}
      <div class="row above">
        <span>
          <b>{number(counted.complete)}</b> of {number(counted.asked)} series complete
        </span>
        <Legend days={days} />
        <span class="quiet">
          left to right: {from} to {to}
        </span>
        <span class="grow" />
        {failed.length > 0 && (
          <button type="button" class="failures" onClick={toNextFailure}>
            {number(failed.length)} series {failed.length === 1 ? 'has' : 'have'} failed days
          </button>
        )}
      </div>
      <div class={`coverage ${series ? 'beside' : ''} ${isStale ? 'stale' : ''}`}>
        {shown.rows.length === 0 || shown.columns.length === 0 ? (
          <p class="empty">Nothing was requested in this period.</p>
        ) : (
          <Matrix
            shown={shown}
            open={open}
            reveal={reveal}
            onFold={fold}
            onOpen={({ row, column }) => {
              const { isFolded, of, group } = shown.columns[column]!;
              if (isFolded) fold(group);
              else openAt({ row, column: of[0]! });
            }}
          />
        )}
        {series && (
          <Series
            key={JSON.stringify([feed, match_type, series])}
            {...asked}
            series={series}
            name={cells.rows.find(({ code }) => code === series.code)?.name ?? null}
            by={cells.by}
          />
        )}
      </div>
    </>
  );
}

/** Returns the series that the address names, if any. */
function openSeries(by: 'country' | 'ticker'): SeriesShown | undefined {
  const [codes, topics] = [address.value.getAll(by), address.value.getAll('topic')];
  const isOne = codes.length === 1 && (by === 'ticker' || topics.length === 1);
  if (!isOne) return undefined;
  const topic = by === 'ticker' ? '' : topics[0]!;
  return { code: codes[0]!, topic, variant: address.value.get('variant') ?? '' };
}

function isSame(column: { topic: string; variant: string }, code: string, series: SeriesShown): boolean {
  return column.topic === series.topic && column.variant === series.variant && code === series.code;
}

/** Returns where a series is shown, if it is. */
function placeOf({ cells, rows, columns }: Shown, series: SeriesShown): Place | undefined {
  const row = rows.findIndex(({ code }) => code === series.code);
  const column = columns.findIndex(({ of }) =>
    of.some((index) => isSame(cells.columns[index]!, series.code, series)),
  );
  return row >= 0 && column >= 0 ? { row, column } : undefined;
}
