import { useEffect, useState } from 'preact/hooks';
import { go } from '../../address.ts';
import { useAnswer, useTogether } from '../../api.ts';
import { colourOf, limitOf } from '../../draw/scales.ts';
import type { Shape } from '../../draw/world.ts';
import { Hatching } from '../../grid.tsx';
import { counted, score } from '../../numbers.ts';
import { Answered, Noted, Tip, Titled } from '../../parts.tsx';
import { Table } from '../../table.tsx';
import { daysBetween } from '../../time.ts';
import { type Asked, newsOf } from './asked.ts';
import { isWhole, loadedWords, Scale } from './means.tsx';

export interface Country {
  readonly code: string;
  readonly name: string;
}

/** A country on the map and in the table beside it. */
interface Shown extends Country {
  readonly mean: number | null;
  readonly headlines: number;
  /** What is loaded of all topics together. */
  readonly state: string;
}

/** Shows the mean of a topic and a period by country: a map, and a table with the same values. */
export function WorldMap({ asked, countries }: { asked: Asked; countries: readonly Country[] }) {
  const { topics, matches, from, to, asOf } = asked;
  const model = asked.models[0]!;
  const codes = countries.map(({ code }) => code).slice(0, 100);
  const means = useAnswer(
    'sentiment/countries',
    codes.length > 0
      ? { country: codes, topic: topics, match_type: matches, from, to, as_of: asOf }
      : undefined,
  );
  const shown = useTogether(
    [means],
    ({ rows }) => {
      const byCode = new Map(rows.map((row) => [row.country, row]));
      return countries.map(({ code, name }): Shown => {
        const row = byCode.get(code);
        const [mean, headlines] = [row?.[model] ?? null, row?.headlines ?? 0];
        return { code, name, mean, headlines, state: row?.state ?? 'not loaded' };
      });
    },
    [countries.length, model],
  );
  return (
    <>
      <Titled title={`${topics.join(', ')}: sentiment by country, ${from} to ${to}`}>
        Mean {model} score of the headlines, from −1 to +1{newsOf(asked)}. A click on a country shows its
        line.
      </Titled>
      <Noted of={means} chart=".map" />
      <Answered asked={shown}>
        {(shown) => (
          <div class="beside world">
            <Drawn shown={shown} asked={asked} />
            <Countries shown={shown} asked={asked} />
          </div>
        )}
      </Answered>
    </>
  );
}

/** Opens the line of a country; if one of its points is of the whole period, with the headlines behind that. */
function openLine({ code }: Country, { from, to }: Asked): void {
  const smooth = { 1: 'none', 7: '7', 28: '28' }[daysBetween(from, to)];
  const point = smooth === undefined ? { at: null } : { at: to, by: 'day', smooth };
  go({ show: 'lines', country: code, ...point, of: null });
}

function words({ mean, headlines, state }: Shown): string {
  if (state === 'not loaded') return state;
  const parts = [mean !== null && score(mean), headlines > 0 ? counted(headlines, 'headline') : 'no news'];
  return [...parts, loadedWords(state)].filter(Boolean).join(' · ');
}

function Drawn({ shown, asked }: { shown: readonly Shown[]; asked: Asked }) {
  const [world, setWorld] = useState<typeof import('../../draw/world.ts')>();
  const [hover, setHover] = useState<{ shape: Shape; left: number; top: number; within: DOMRect } | null>(
    null,
  );
  useEffect(() => void import('../../draw/world.ts').then(setWorld), []);
  const limit = limitOf(shown.map(({ mean }) => mean));
  const byCode = new Map(shown.map((one) => [one.code, one]));
  const of = (shape: Shape) => byCode.get(shape.code ?? '');
  const over = (shape: Shape) => (event: PointerEvent) => {
    const within = (event.currentTarget as Element).closest('svg')!.getBoundingClientRect();
    setHover({ shape, left: event.clientX - within.left, top: event.clientY - within.top, within });
  };
  const told = hover && of(hover.shape);
  return (
    <div class="map" onPointerLeave={() => setHover(null)}>
      {hover && (
        <Tip at={{ left: hover.left, top: hover.top, width: 0, height: 10 }} within={hover.within}>
          <strong>{told?.name ?? hover.shape.name}</strong>
          <br />
          {told ? words(told) : 'the service does not list it'}
        </Tip>
      )}
      {world ? (
        <svg
          viewBox={`0 0 ${world.size.width} ${world.size.height}`}
          role="img"
          aria-label="World map; the table beside it says the same"
        >
          <defs>
            <Hatching id="hatched" colour="var(--pending)" ground="var(--never)" />
            <pattern id="dotted" width="5" height="5" patternUnits="userSpaceOnUse">
              <circle fill="var(--quiet)" cx="2.5" cy="2.5" r="0.7" />
            </pattern>
          </defs>
          {world.shapes.map((shape) => {
            const one = of(shape);
            return (
              // biome-ignore lint/a11y/noStaticElementInteractions: the table beside it has a button for each country
              <path
                key={shape.name}
                d={shape.path}
                class={kindOf(one)}
                data-chosen={asked.countries.includes(shape.code ?? '') || undefined}
                style={
                  one && { fill: one.mean === null ? `url(#${kindOf(one)})` : colourOf(one.mean, limit) }
                }
                onPointerMove={over(shape)}
                onClick={one && (() => openLine(one, asked))}
              />
            );
          })}
        </svg>
      ) : (
        <div class="space quiet">Drawing …</div>
      )}
      <Scale limit={limit} isDotted />
    </div>
  );
}

function kindOf(one: Shown | undefined): string {
  if (!one) return 'unlisted';
  if (one.mean !== null) return 'mean';
  // What is loaded in part may have had news.
  return isWhole(one.state) ? 'dotted' : 'hatched';
}

function Countries({ shown, asked }: { shown: readonly Shown[]; asked: Asked }) {
  const withNews = shown.filter(({ mean }) => mean !== null).toSorted((a, b) => b.mean! - a.mean!);
  const withoutNews = shown.filter(({ mean, state }) => mean === null && isWhole(state));
  const inPart = shown.filter(({ mean, state }) => mean === null && state === 'partial');
  const missing = shown.filter(({ mean, state }) => mean === null && state === 'not loaded');
  return (
    <section class="countries">
      <Table
        label="Countries"
        rows={withNews}
        keyOf={({ code }) => code}
        sort="sort"
        columns={[
          {
            title: 'country',
            kind: 'head',
            by: ({ name }) => name,
            show: (one) => (
              <>
                <button type="button" class="flat" onClick={() => openLine(one, asked)}>
                  {one.name}
                </button>
                {loadedWords(one.state) && <div class="quiet small">{loadedWords(one.state)}</div>}
              </>
            ),
          },
          { title: 'mean', kind: 'number', by: ({ mean }) => mean, show: ({ mean }) => score(mean) },
          { title: 'headlines', kind: 'number', by: ({ headlines }) => headlines },
        ]}
      />
      {withoutNews.length > 0 && (
        <p class="quiet">No news: {withoutNews.map(({ name }) => name).join(', ')}.</p>
      )}
      {inPart.length > 0 && (
        <p class="quiet">No news in the part that is loaded: {inPart.map(({ name }) => name).join(', ')}.</p>
      )}
      {missing.length > 0 && (
        <p class="quiet">
          Not loaded:{' '}
          {missing.length > 12 ? `${missing.length} countries` : missing.map(({ name }) => name).join(', ')}.
        </p>
      )}
    </section>
  );
}
