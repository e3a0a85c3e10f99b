import { useState } from 'preact/hooks';
import { go } from '../../address.ts';
import { bucketText, bucketTitle } from '../../buckets.ts';
import {
  type Chart,
  isLoaded,
  isTrailing,
  type Line,
  meanAt,
  type SeriesPoints,
  type State,
  stateWords,
} from '../../draw/points.ts';
import { counted, number, score } from '../../numbers.ts';
import { Swatch } from '../../parts.tsx';
import { type Column, Table } from '../../table.tsx';

/** Draws a line's sign: its colour, solid or dashed. */
function Sign({ place, model }: { place: number; model: Line['model'] }) {
  return (
    <span
      class={`sign ${model}`}
      aria-hidden="true"
      style={{ borderTopColor: `var(--series-${place % 12})` }}
    />
  );
}

function titleAt({ starts, by }: Chart, index: number): string {
  return bucketTitle(bucketText(starts[index]!, by), by);
}

/** Shows the values of all lines at the cursor. */
export function ReadOut({
  chart,
  hidden,
  index,
  left,
  width,
}: {
  chart: Chart;
  hidden: ReadonlySet<string>;
  index: number;
  left: number;
  width: number;
}) {
  const title = titleAt(chart, index);
  const shown = chart.series.filter(({ key }) => !hidden.has(key));
  const side = left > width / 2 ? { right: `${width - left + 14}px` } : { left: `${left + 14}px` };
  return (
    <div class="tip readout" style={side} role="status">
      <strong>{title[0]!.toUpperCase() + title.slice(1)}</strong>
      <table>
        <tbody>
          {shown.flatMap((series) => [
            <Read key={series.key} title={chart.now && 'then'} {...{ chart, series, index }} />,
            chart.now && (
              <Read
                key={`${series.key} now`}
                title="now"
                chart={chart.now}
                series={chart.now.series[series.place]!}
                index={index}
              />
            ),
          ])}
        </tbody>
      </table>
    </div>
  );
}

/** Shows the values of a series' lines at the cursor. @param title the state that they are of, if there are two */
function Read({
  chart,
  series,
  index,
  title,
}: {
  chart: Chart;
  series: SeriesPoints;
  index: number;
  title: string | undefined;
}) {
  const count = series.headlines[index]!;
  const state = series.states[index]!;
  return (
    <tr>
      <th scope="row">
        {series.title} {title && <b>{title}</b>}
      </th>
      {chart.lines
        .filter((line) => line.series === series)
        .map((line) => (
          <td key={line.model} class="number">
            <span>
              <Sign place={series.place} model={line.model} />
              {score(meanAt(line, index))}
            </span>{' '}
            {typeof line.errors[index] === 'number' && <span>± {line.errors[index].toFixed(3)}</span>}
          </td>
        ))}
      <td class="number">
        {count > 0 && number(series.behind[index]!)}{' '}
        <span class="quiet">
          {series.isDifference
            ? 'difference'
            : count === 0 || state !== 'covered'
              ? stateWords(state, chart)
              : series.behind[index] === 1
                ? chart.counted
                : `${chart.counted}s`}
          {count > 0 && isTrailing(chart, index) && ` in ${chart.smooth} days`}
        </span>
      </td>
    </tr>
  );
}

/** Shows the lines' titles and their means over the whole period. A click hides a series or shows it again. */
export function Legend({ chart, hidden }: { chart: Chart; hidden: ReadonlySet<string> }) {
  const flip = (key: string) =>
    go({ hide: hidden.has(key) ? [...hidden].filter((one) => one !== key) : [...hidden, key] }, 'replace');
  const isGap = chart.series.some(({ states }) => states.some((state) => !isLoaded(state)));
  const has = (state: State) => chart.series.some(({ states }) => states.includes(state));
  const rings = [has('incomplete') && `incomplete ${chart.by}`, has('cut') && `part of a ${chart.by}`];
  return (
    <div
      class={chart.series.length > 3 ? 'row tight legend lines-legend many' : 'row tight legend lines-legend'}
    >
      {chart.series.map((series) => (
        <button
          key={series.key}
          type="button"
          class="flat"
          aria-pressed={!hidden.has(series.key)}
          onClick={() => flip(series.key)}
        >
          {chart.lines
            .filter((line) => line.series === series)
            .map(({ model }) => (
              <Sign key={model} place={series.place} model={model} />
            ))}
          <b class="name">{series.title}</b> <span class="quiet">{summaryOf(chart, series)}</span>
        </button>
      ))}
      {isGap && (
        <span class="quiet">
          <Swatch kind="hatched" />
          not loaded, or not complete yet
        </span>
      )}
      {rings.some(Boolean) && (
        <span class="quiet">
          <Swatch kind="ring" />
          {rings.filter(Boolean).join(', or ')}
        </span>
      )}
    </div>
  );
}

function summaryOf(chart: Chart, series: SeriesPoints): string {
  if (series.isDifference) return 'difference';
  const headlines = series.headlines.reduce((sum, count) => sum + count, 0);
  const means = chart.lines
    .filter((line) => line.series === series)
    .map(({ means, model }) => {
      const sum = means.reduce<number>((sum, mean, index) => sum + (mean ?? 0) * series.headlines[index]!, 0);
      const mean = score(headlines > 0 ? sum / headlines : null);
      return chart.lines.length > chart.series.length ? `${mean} ${model}` : mean;
    });
  const gaps = gapsOf(chart, series);
  if (headlines > 0) return [means.join(', '), `${number(headlines)} ${chart.counted}s`, ...gaps].join(' · ');
  return series.states.some(isLoaded) ? [`no ${chart.counted}s`, ...gaps].join(' · ') : 'not loaded';
}

function gapsOf({ by }: Chart, { states }: SeriesPoints): string[] {
  const count = (state: string, what: string) => {
    const buckets = states.filter((one) => one === state).length;
    return buckets === 0 ? [] : [`${counted(buckets, by)} ${what}`];
  };
  return [...count('missing', 'not loaded'), ...count('incomplete', 'not complete')];
}

/** Shows the numbers behind the lines, the latest first. */
export function Numbers({ chart }: { chart: Chart }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details class="numbers" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Numbers</summary>
      {isOpen && (
        <Table
          label="Numbers"
          rows={chart.starts.map((_, index) => index).toReversed()}
          keyOf={(index) => index}
          sort="numbers"
          first={100}
          columns={[
            {
              title: chart.by,
              kind: 'head',
              by: (index) => index,
              show: (index) => <span class="nowrap">{titleAt(chart, index)}</span>,
            },
            ...[...chart.lines, ...(chart.now?.lines ?? [])].flatMap((line) => {
              const title = `${line.series.title} ${line.model}${chart.now?.lines.includes(line) ? ' now' : ''}`;
              const hasBand = line.errors.some((error) => error !== null);
              const mean: Column<number> = {
                ...{ title, kind: 'number', by: (index) => meanAt(line, index) },
                show: (index) => score(meanAt(line, index)),
              };
              const error: Column<number> = {
                ...{ title: `${title} ±`, kind: 'number', by: (index) => line.errors[index]! },
                show: (index) => line.errors[index]?.toFixed(3),
              };
              return hasBand ? [mean, error] : [mean];
            }),
            ...chart.series
              .filter(({ isDifference }) => !isDifference)
              .map(
                ({ title, behind, states: of }): Column<number> => ({
                  title: `${title} ${chart.counted}s${isTrailing(chart, 0) ? ` in ${chart.smooth} days` : ''}`,
                  kind: 'number',
                  by: (index) => behind[index]!,
                  show: (index) =>
                    `${number(behind[index]!)} ${of[index] === 'covered' ? '' : stateWords(of[index]!, chart)}`,
                }),
              ),
          ]}
        />
      )}
    </details>
  );
}
