import { rollup, sum } from 'd3-array';
import { useMemo } from 'preact/hooks';
import { go } from '../../address.ts';
import { colourOf, limitOf } from '../../draw/scales.ts';
import { type Cell, Grid } from '../../grid.tsx';
import { counted, score } from '../../numbers.ts';
import { Section } from '../../parts.tsx';
import { report } from '../../report.ts';
import type { Row } from '../../rows.ts';

type Series = Row<'briefing'>;

/** The least pixels of a column. */
const least = 13;

/** Shows the week of all series: a row for each topic, and a column for each country, those with the most news if not all fit. */
export function World({ rows, to }: { rows: readonly Series[]; to: string }) {
  const world = useMemo(() => worldOf(rows), [rows]);
  const { topics, countries, at, limit, others } = world;
  const cell = useMemo(() => (row: number, column: number) => cellOf(at(row, column), limit), [world]);
  return (
    <Section
      title="World"
      beside={
        <span class="quiet small end legend-of-world">
          −{limit} <i class="ramp" aria-hidden="true" /> +{limit} · ▲▼ |z| ≥ 2 · dot: not loaded
        </span>
      }
    >
      <p class="quiet small">
        Mean of the week by topic and country
        {others > 0 && `; ${counted(others, 'country', 'countries')} with less news not shown`}.
      </p>
      <Grid
        label="World: arrow keys move, Enter shows the series over time"
        rows={topics}
        columns={countries.map((title) => ({ title, group: '' }))}
        cell={cell}
        said={({ row, column }) => `${countries[column]} ${topics[row]}: ${inWords(at(row, column))}`}
        down={topics.length > 30 ? 15 : 22}
        widest={56}
        {...(!report && {
          onOpen: ({ row, column }) =>
            go({ view: 'explore', country: countries[column]!, topic: topics[row]!, to, from: '90d' }),
        })}
      />
    </Section>
  );
}

function worldOf(rows: readonly Series[]) {
  const news = rollup(
    rows,
    (of) => sum(of, ({ headline_count }) => headline_count),
    ({ country }) => country,
  );
  const busiest = [...news].toSorted(([, a], [, b]) => b - a).map(([country]) => country);
  const countries = busiest
    .slice(0, Math.max(6, Math.floor((Math.min(innerWidth, 1700) * 0.5 - 160) / least)))
    .toSorted();
  const topics = [...new Set(rows.map(({ topic }) => topic))].toSorted();
  const byKey = new Map(rows.map((row) => [`${row.country}\n${row.topic}`, row]));
  return {
    topics,
    countries,
    others: busiest.length - countries.length,
    at: (row: number, column: number) => byKey.get(`${countries[column]}\n${topics[row]}`),
    limit: limitOf(rows.map(({ mean }) => mean)),
  };
}

function cellOf(series: Series | undefined, limit: number): Cell {
  if (!series || (series.state === 'not loaded' && series.mean === null))
    return { background: 'none', mark: '·' };
  const { mean, z } = series;
  const background = mean === null ? 'var(--never)' : colourOf(mean, limit);
  return { background, mark: Math.abs(z ?? 0) < 2 ? undefined : z! > 0 ? '▲' : '▼' };
}

function inWords(series: Series | undefined): string {
  if (!series) return 'never requested';
  const { mean, change, z, headline_count, state } = series;
  const open = state === 'covered' ? '' : `, ${state}`;
  if (mean === null) return `no news${open}`;
  const moved =
    change === null
      ? ''
      : `, ${score(change, 2)} against 90 days before${z === null ? '' : ` (z ${score(z, 1)})`}`;
  return `${score(mean, 2)}${moved}, ${counted(headline_count, 'headline')}${open}`;
}
