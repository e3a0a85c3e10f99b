import { useMemo } from 'preact/hooks';
import { address, go } from '../../address.ts';
import { type Answer, type Asked, useAnswer, useTogether } from '../../api.ts';
import {
  type Cells,
  cellsOf,
  daysOf,
  failures,
  type SeriesAsked,
  seriesIn,
  shownOf,
} from '../../draw/cells.ts';
import type { Place } from '../../grid-layout.ts';
import { number } from '../../numbers.ts';
import { Answered, Controls, Period, Select, Source, Switch, useTitle } from '../../parts.tsx';
import { report } from '../../report.ts';
import { daysBetween, periodFor } from '../../time.ts';
import { Causes } from '../causes.tsx';
import { Legend, Matrix } from './matrix.tsx';
import { Series } from './series.tsx';

const nothingYet = (
  <>
    Nothing has been loaded yet. <code>npx gmsi plan &lt;job&gt;</code> says what loading a job costs, without
    a request; <code>npx gmsi init</code> makes a job, with about 5 requests.
  </>
);

/** Shows how complete the warehouse is: all series of a feed, and one of them beside it. */
export function Coverage() {
  const feeds = useAnswer('feeds', {});
  const listed = useAnswer('series', {}, 60);
  const asked = (name: string) => address.value.getAll(name).join(', ');
  useTitle('Coverage', asked('country') || asked('ticker'), asked('topic'));
  return (
    <Answered asked={feeds} empty={nothingYet}>
      {({ rows }) => <OfFeed feeds={rows} listed={listed} />}
    </Answered>
  );
}

type Feeds = Answer<'feeds'>['rows'];

function OfFeed({ feeds, listed }: { feeds: Feeds; listed: Asked<Answer<'series'>> }) {
  const asked = (name: string) => address.value.get(name);
  const { feed, match_type, oldest, newest } =
    feeds.find((one) => one.feed === asked('feed') && one.match_type === asked('match_type')) ??
    feeds.find((one) => one.feed === (asked('feed') ?? 'gmsi-headlines')) ??
    feeds[0]!;
  const { from, to } = periodFor(newest, oldest, () => oldest);
  const parameters = { feed, match_type, from, to };
  const coverage = useAnswer('coverage', parameters, 2);
  const cells = useTogether(
    [coverage, listed],
    (found, listed) => cellsOf(feed, Math.max(1, daysBetween(from, to)), found.rows, listed.rows),
    [],
  );
  const look = useLook(cells.answer);
  return (
    <>
      <Controls chosen={[feed, match_type, `${from} to ${to}`]}>
        <div class="row">
          {feeds.length > 1 && (
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
          )}
          {!report && <Period from={from} to={to} oldest={oldest} newest={newest} />}
          {look?.hasOthers && (
            <Switch
              label="Which series"
              name="only"
              value={look.only}
              values={{ asked: 'only what was requested', all: 'all series' }}
            />
          )}
          <Source of={coverage} chart=".matrix" />
        </div>
      </Controls>
      <Answered asked={{ ...cells, answer: look }}>
        {(look) => <AllSeries {...parameters} {...look} />}
      </Answered>
    </>
  );
}

type Look = NonNullable<ReturnType<typeof useLook>>;

/** Returns what the address shows of the cells. */
function useLook(cells: Cells | undefined) {
  const asked = address.value.get('only');
  /** The groups to fold; an empty one means none. */
  const fold = address.value.getAll('fold');
  return useMemo(() => {
    if (!cells) return undefined;
    const part = seriesIn(cells).asked / Math.max(1, cells.rows.length * cells.columns.length);
    const only: 'asked' | 'all' =
      (asked ?? (part > 0 && part < 1 / 3 ? 'asked' : 'all')) === 'asked' ? 'asked' : 'all';
    const groups = [...new Set(cells.columns.map(({ group }) => group))].filter(Boolean);
    const all = shownOf(cells, only === 'asked', new Set());
    const usual = innerWidth < 600 && all.columns.length > 30 ? groups : [];
    const folded: ReadonlySet<string> = new Set((fold.length > 0 ? fold : usual).filter(Boolean));
    return {
      only,
      hasOthers: part < 1,
      folded,
      shown: folded.size > 0 ? shownOf(cells, only === 'asked', folded) : all,
    };
  }, [cells, asked, fold.join('\n'), fold.length]);
}

/** Shows the series of a feed, and beside them the one that is open. */
function AllSeries({ folded, shown, ...asked }: SeriesAsked & Look) {
  const { feed, match_type, from, to } = asked;
  const { cells, rows, columns } = shown;
  const failed = useMemo(() => failures(cells), [cells]);
  const series = openSeries(cells);
  const open = ({ row, column }: Place) => {
    const { topic, variant } = cells.columns[column]!;
    const others = { topic: topic || null, variant: variant || null };
    go({ country: null, ticker: null, [cells.by]: cells.rows[row]!.code, ...others });
  };
  const fold = (group: string) => {
    const next = folded.has(group) ? [...folded].filter((one) => one !== group) : [...folded, group];
    go({ fold: next.length > 0 ? next : [''] });
  };
  const toNextFailure = () => {
    const current = failed.findIndex(({ row, column }) => row === series?.row && column === series.column);
    open(failed[(current + 1) % failed.length]!);
  };
  const counted = seriesIn(cells);
  const all = cells.rows.length * cells.columns.length;
  return (
    <div class="failures-last">
      <div class="row apart">
        <span>
          <b>{number(counted.complete)}</b> of {number(counted.asked)} requested series complete
          {all > counted.asked && <span class="quiet">; {number(all)} could be requested</span>}
        </span>
        <Legend days={daysOf(shown)} />
        <span class="quiet">
          left to right: {from} to {to}
        </span>
        {failed.length > 0 && (
          <button type="button" class="bad end" onClick={toNextFailure}>
            {number(failed.length)} series {failed.length === 1 ? 'has' : 'have'} failed days
          </button>
        )}
      </div>
      <Failures feed={feed} />
      <div class={series && 'beside'}>
        {rows.length === 0 || columns.length === 0 ? (
          <p class="empty">Nothing was requested in this period.</p>
        ) : (
          <Matrix
            shown={shown}
            open={
              series && {
                row: rows.indexOf(cells.rows[series.row]!),
                column: columns.findIndex(({ of }) => of.includes(series.column)),
              }
            }
            onFold={fold}
            onOpen={({ row, column }) => {
              const { isFolded, of, group } = columns[column]!;
              if (isFolded) fold(group);
              else open({ row: cells.rows.indexOf(rows[row]!), column: of[0]! });
            }}
          />
        )}
        {series && (
          <Series
            key={JSON.stringify([feed, match_type, series])}
            {...{ feed, match_type, from, to, by: cells.by }}
            {...{ ...cells.columns[series.column]!, ...cells.rows[series.row]! }}
            timeline={cells.series[series.row]![series.column]?.timeline}
          />
        )}
      </div>
    </div>
  );
}

/** Shows why windows of a feed are not loaded, with one command for all of a kind. */
function Failures({ feed }: { feed: string }) {
  const causes = useAnswer('causes', {}, 5, 60).answer?.rows ?? [];
  return <Causes causes={causes.filter((one) => one.feed === feed && one.windows !== null)} />;
}

/** Returns where the series is that the address names, if it names one. */
function openSeries({ by, rows, columns }: Cells): Place | undefined {
  const [[code, ...others], topics] = [address.value.getAll(by), address.value.getAll('topic')];
  if (others.length > 0 || (by === 'country' && topics.length !== 1)) return undefined;
  const topic = by === 'ticker' ? '' : topics[0];
  const variant = address.value.get('variant') ?? '';
  const row = rows.findIndex((one) => one.code === code);
  const column = columns.findIndex((one) => one.topic === topic && one.variant === variant);
  return row >= 0 && column >= 0 ? { row, column } : undefined;
}
