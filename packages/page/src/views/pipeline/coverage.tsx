import { scaleUtc } from 'd3-scale';
import { useMemo } from 'preact/hooks';
import { address, go } from '../../address.ts';
import { type Answer, type AnswersTo, question, useAnswer, useTogether } from '../../api.ts';
import { barOf, type Cells, cellsOf, inWords, isComplete, statesIn } from '../../draw/cells.ts';
import { stateTitles } from '../../draw/states.ts';
import { Grid, type Place } from '../../grid.tsx';
import { number } from '../../numbers.ts';
import { Answered, Link, Period, Section, Select, Swatch } from '../../parts.tsx';
import { report } from '../../report.ts';
import { variantTitle } from '../../rows.ts';
import { Share } from '../../share.tsx';
import { Table } from '../../table.tsx';
import { daysBetween, periodFor } from '../../time.ts';

const noSeries = { country: null, topic: null, ticker: null, variant: null };

/** Shows how complete the series of a feed are, and the days that are missing, of all of them or of one. */
export function Coverage({ feeds }: { feeds: Answer<'feeds'>['rows'] }) {
  const asked = (name: string) => address.value.get(name);
  const { feed, match_type, oldest, newest } =
    feeds.find((one) => one.feed === asked('feed') && one.match_type === asked('match_type')) ??
    feeds.find((one) => one.feed === (asked('feed') ?? 'gmsi-headlines')) ??
    feeds[0]!;
  const { from, to } = report ? { from: oldest, to: newest } : periodFor(newest, oldest, () => oldest);
  const coverage = useTogether({ feed, match_type, from, to }, matrixOf, 2);
  const missing = useAnswer('coverage/missing', { feed, ...seriesAsked() });
  return (
    <>
      <Section title="Series">
        <div class="row controls">
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
                go({ feed, match_type, ...noSeries });
              }}
            />
          )}
          {!report && <Period from={from} to={to} oldest={oldest} newest={newest} />}
        </div>
        <Answered asked={coverage} as={Matrix} />
      </Section>
      <Answered asked={missing} as={MissingDays} />
    </>
  );
}

function matrixOf(about: { [Name in 'feed' | 'match_type' | 'from' | 'to']: string }) {
  return { coverage: question('coverage', about), listed: question('series', {}) };
}

/** Shows the requested series: each cell runs from the first day to the last. */
function Matrix({ about, coverage, listed }: AnswersTo<typeof matrixOf>) {
  const { from, to } = about;
  const found = coverage.rows;
  const cells = useMemo(() => cellsOf(found, listed.rows), [found, listed]);
  const days = Math.max(1, daysBetween(from, to));
  const { rows, columns, by, at } = cells;
  const hasNames = innerWidth >= 700 && rows.length <= 40;
  const open = ({ row, column }: Place) => {
    const { topic, variant } = columns[column]!;
    go({ ...noSeries, [by]: rows[row]!.code, topic: topic || null, variant: variant || null });
  };
  const cell = useMemo(() => {
    return (row: number, column: number) => {
      const one = at(row, column);
      return one ? barOf(one) : { background: 'none' };
    };
  }, [cells]);
  if (found.length === 0) return <p class="empty">Nothing was requested in this period.</p>;
  return (
    <>
      <div class="row">
        <span>
          <b>{number(found.filter(isComplete).length)}</b> of {number(found.length)} requested series complete
        </span>
        <ul class="row tight small" aria-label="States of days">
          {statesIn(found).map((state) => (
            <li key={state} title={stateTitles[state][1]}>
              <Swatch kind={state} />
              {stateTitles[state][0]}
            </li>
          ))}
        </ul>
        <span class="quiet small">each cell:</span>
        <Axis from={from} to={to} />
        <Share of={coverage} chart=".matrix" />
      </div>
      <div class="matrix">
        <Grid
          label="Coverage: arrow keys move, Enter lists the missing days of a series"
          rows={rows.map(
            ({ code, name }) => [code, (hasNames || !code) && name].filter(Boolean).join('  ') || 'all',
          )}
          // A single column needs no title.
          columns={columns.length === 1 ? [{ title: '', group: '' }] : columns}
          down={Math.max(11, Math.min(22, Math.floor((innerHeight - 330) / rows.length)))}
          {...(columns.length > 1 && { widest: 200 })}
          cell={cell}
          said={({ row, column }) => {
            const { topic, variant } = columns[column]!;
            const of = [rows[row]!.code, rows[row]!.name, topic, variantTitle(variant)].filter(Boolean);
            return `${of.join(' ') || 'all'}: ${inWords(at(row, column), days)}`;
          }}
          open={openIn(cells)}
          {...(!report && { onOpen: open })}
        />
      </div>
    </>
  );
}

const wide = 190;

/** The axis that all cells share, with its years or months. */
function Axis({ from, to }: { from: string; to: string }) {
  const x = scaleUtc([new Date(from), new Date(to)], [0, wide]);
  const write = x.tickFormat(3);
  return (
    <svg
      class="axis"
      role="img"
      aria-label={`Each cell runs from ${from} to ${to}`}
      width={wide + 40}
      height={24}
    >
      <path d={`M0.5 3v4h${wide}v-4`} />
      {x.ticks(3).map((tick) => (
        <g key={tick.getTime()} transform={`translate(${x(tick)} 0)`}>
          <path d="M0.5 3v4" />
          <text y={20} fill="var(--quiet)" stroke="none" font-size={11}>
            {write(tick)}
          </text>
        </g>
      ))}
    </svg>
  );
}

/** Returns the parts of the one series that the address names; none if it names several, as other views do. */
function seriesAsked(): Partial<Record<keyof typeof noSeries, string>> {
  const all = Object.keys(noSeries).map((name) => [name, address.value.getAll(name)] as const);
  const isOne = !report && all.every(([, { length }]) => length <= 1);
  return isOne ? Object.fromEntries(all.flatMap(([name, [value]]) => (value ? [[name, value]] : []))) : {};
}

/** Returns where the series is that the address names, if it names one. */
function openIn({ by, rows, columns }: Cells): Place | undefined {
  const { topic = '', variant = '', ...codes } = seriesAsked();
  const row = rows.findIndex(({ code }) => code === codes[by]);
  const column = columns.findIndex((one) => one.topic === topic && one.variant === variant);
  return row >= 0 && column >= 0 ? { row, column } : undefined;
}

const reasons: Readonly<Record<string, string>> = {
  pending: 'planned, not begun',
  draining: 'half loaded',
  'not loaded': 'never requested',
};

/** Lists the days that are not loaded, with why, and the least requests that load them. */
function MissingDays(missing: Answer<'coverage/missing'>) {
  const { rows, parameters } = missing;
  const { feed: _, ...series } = parameters;
  const of = Object.values(series).join(' ');
  if (rows.length === 0 && !of) return null;
  return (
    <Section title={of ? `Missing days of ${of}` : 'Missing days'} beside={<Share of={missing} />}>
      {of && (
        <p class="row">
          {rows.length === 0 && (
            <span class="quiet">From the first to the last requested day, none is missing.</span>
          )}
          {series.topic && <Link to={{ view: 'explore', from: null, to: null }}>its sentiment</Link>}
          <Link to={noSeries}>all series</Link>
        </p>
      )}
      {rows.length > 0 && (
        <Table
          label="Table of missing days"
          kind="small"
          rows={rows}
          keyOf={({ from, to, state, cause }) => `${from} ${to} ${state} ${cause}`}
          sort="missing"
          first={8}
          columns={[
            {
              title: 'days',
              kind: 'nowrap',
              by: ({ from }) => from,
              show: ({ from, to }) => `${from} – ${to}`,
            },
            {
              title: 'series',
              show: ({ series, example }) =>
                series === 1 ? example : `${number(series)}, such as ${example}`,
            },
            {
              title: 'why',
              show: ({ state, says }) => [reasons[state] ?? state, says].filter(Boolean).join(': '),
            },
            { title: 'requests', kind: 'number', hint: 'At least', by: ({ requests }) => requests },
          ]}
        />
      )}
    </Section>
  );
}
