import { sum } from 'd3-array';
import type { ComponentChildren } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { address, go } from '../../address.ts';
import { type AnswersTo, question, useAnswer, useTogether } from '../../api.ts';
import { bucketText, titleOf } from '../../buckets.ts';
import { isDark } from '../../draw/colours.ts';
import type { Drawing } from '../../draw/lines.ts';
import {
  behindOf,
  type Chart,
  changeAt,
  chartOf,
  isLoaded,
  isTrailing,
  type Line,
  largestMove,
  leadOf,
  meanAt,
  type State,
  stateWords,
  storyOfMove,
} from '../../draw/points.ts';
import { Sample, Sign } from '../../draw/sign.tsx';
import { counted, number, percent, score } from '../../numbers.ts';
import { Answered, Titled, useWidth } from '../../parts.tsx';
import { Share } from '../../share.tsx';
import { dayOf, moment, zone } from '../../time.ts';
import { AsOf } from './as-of.tsx';
import { type Asked, feed, mostLines, newsOf, seriesOf } from './asked.ts';
import type { About } from './changes.tsx';
import { Pane } from './pane.tsx';
import { openIn } from './selected.ts';

function questionsOf({ by, from, to, smooth, asOf, countries, topics, matches }: About) {
  const lists = { country: countries, topic: topics, match_type: matches };
  const parameters = { ...lists, from: leadOf({ from, by, smooth }), to, by };
  return {
    means: question('sentiment', { ...parameters, as_of: asOf }),
    covered: question('coverage/days', { feed, ...parameters, by: null, as_of: asOf }),
    now: asOf === null ? undefined : question('sentiment', parameters),
    coveredNow: asOf === null ? undefined : question('coverage/days', { feed, ...parameters, by: null }),
  };
}

/** Shows sentiment over time: a line for each series and model, above the number of headlines. */
export function Lines(about: About) {
  return <Answered asked={useTogether(about, questionsOf)} as={Shown} />;
}

function Shown(answer: AnswersTo<typeof questionsOf>) {
  const { about, means, covered, now, coveredNow } = answer;
  const { what, by, from, to, smooth, asOf, model } = about;
  const chart = useMemo(() => {
    const series = seriesOf(about);
    const then = chartOf(means.rows, covered.rows, { ...about, series });
    return now && coveredNow
      ? { ...then, now: chartOf(now.rows, coveredNow.rows, { ...about, series }) }
      : then;
  }, [about, means, covered, now, coveredNow]);
  const move = useLargestMove(about, chart);
  const mean = smooth > 1 ? `${smooth}-day mean` : 'Mean';
  return (
    <>
      <Titled
        title={`${what}: sentiment by ${by}, ${from} to ${to}${asOf ? `, as of ${moment(asOf)} ${zone.value}` : ''}`}
        beside={<Share of={means} chart=".chart" from={from} />}
      >
        {mean} {model} score of the headlines{newsOf(about)}: +1 if all are wholly positive, −1 if all are
        wholly negative.
      </Titled>
      <Drawn
        chart={chart}
        track={<AsOf isLines asOf={asOf} />}
        pane={<Pane {...{ chart, about }} />}
        label={`Sentiment by ${by}${asOf ? ', then and now' : ''}, ${from} to ${to}. Arrow keys read it out, Enter opens it.`}
        notes={[move, changesOf(chart), ...notesOf(about)]}
      />
    </>
  );
}

/** Says of the largest move of a chart of now how large it is, and which story did a good part of it, if one did. */
function useLargestMove({ by, smooth, asOf, from }: Asked, chart: Chart): string | undefined {
  const isOne = smooth === 1 && asOf === null && by !== 'hour';
  const move = useMemo(() => (isOne ? largestMove(chart) : undefined), [chart, isOne]);
  const days = move && behindOf(chart, move.index);
  const [first, last] = days ? [dayOf(days.from), dayOf(days.to - 1)] : [from, from];
  const before = move && behindOf(chart, move.index - 1);
  const stories = useAnswer(
    'sentiment/changes/stories',
    move && {
      country: move.line.country,
      topic: move.line.topic,
      match_type: move.line.match,
      model: chart.model,
      from: first,
      to: last,
      against: `${dayOf(before!.from)}..${dayOf(before!.to - 1)}`,
    },
  );
  if (!move) return undefined;
  const story = stories.isAsking ? undefined : storyOfMove(stories.answer?.rows ?? [], move);
  // Isolated, because it may be written from right to left.
  const named = story?.headline ? `, ${percent(story.share)} by “\u2068${story.headline}\u2069”` : '';
  const of = chart.lines.length > 1 ? `${move.line.title}, ` : '';
  const when = `${of}${titleOf(chart.starts[move.index]!, by)}`;
  return `Largest move in standard errors: ${score(move.change, 2)}, z ${score(move.z, 1)} (${when})${named}.`;
}

function notesOf({ countries, topics, matches, by, smooth }: Asked): Notes {
  const all = countries.length * topics.length * matches.length;
  return [
    all > mostLines && `The first ${mostLines} of ${all} lines are shown.`,
    smooth > 1 &&
      `Each point is the mean of all headlines of the ${smooth} days up to it, where all of them are loaded.`,
    smooth > 1 &&
      by === 'day' &&
      'The band is the usual scatter: the mean of the 90 days before ± 2 standard errors, as in Briefing.',
  ];
}

/** Counts the points that differ since the chart's past moment. */
function changesOf(chart: Chart): string | false {
  const { lines, starts, by, now } = chart;
  const count = (kind: ReturnType<typeof changeAt>) =>
    starts.filter((_, index) => lines.some((__, place) => changeAt(chart, place, index) === kind)).length;
  const [changed, added] = [count('changed'), count('added')];
  if (!now) return false;
  const others = added > 0 ? `, and ${counted(added, by)} had no headlines here yet` : '';
  return `${changed > 0 ? counted(changed, by) : `No ${by}`} changed since then${others}.`;
}

type Notes = readonly (string | false | undefined)[];

export function Drawn(props: {
  chart: Chart;
  label: string;
  notes: Notes;
  track?: ComponentChildren;
  pane?: ComponentChildren;
}) {
  const { chart, label, notes, track, pane } = props;
  const box = useRef<HTMLDivElement>(null);
  const drawing = useRef<Drawing>(undefined);
  const width = useWidth(box);
  const [hover, setHover] = useState<{ start: number; left: number } | null>(null);
  // Looks the bucket up in this chart, because the cursor may still be on one of the previous chart.
  const pointed = hover ? chart.starts.indexOf(hover.start) : -1;
  const place = useRef(pointed);
  place.current = pointed;
  const open = openIn(chart);
  const [days, against] = [address.value.get('days'), address.value.get('against')];
  const dark = isDark.value;
  const height = width < 600 ? 240 : Math.max(300, Math.min(640, innerHeight - 520));

  useEffect(() => {
    if (width === 0) return;
    let isGone = false;
    void import('../../draw/lines.ts').then(({ drawLines }) => {
      if (isGone) return;
      const size = { width, height, open, days, against };
      drawing.current = drawLines(box.current!, chart, size, {
        onHover: (index, left) => {
          setHover(index === null ? null : { start: chart.starts[index]!, left });
        },
        onOpen: (index, line) => openAt(chart, index, line?.key),
        onChoose: (first, last, isOther) => {
          const begin = behindOf({ ...chart, smooth: 1 }, first);
          const days = `${dayOf(begin.from)}..${dayOf(behindOf(chart, last).to - 1)}`;
          go(isOther ? { against: days } : { days, at: null, pane: null });
        },
      });
      // New data redraw the chart under the cursor.
      if (place.current >= 0) drawing.current.point(place.current);
      else setHover(null);
    });
    return () => {
      isGone = true;
      drawing.current?.destroy();
      drawing.current = undefined;
    };
  }, [chart, width, height, open, days, against, dark, zone.value]);

  const point = (index: number | null) => {
    if (drawing.current) return drawing.current.point(index);
    // A key may come before the lines are drawn.
    place.current = index ?? -1;
    setHover(index === null ? null : { start: chart.starts[index]!, left: 0 });
  };
  const onKey = (event: KeyboardEvent) => {
    const end = chart.starts.length - 1;
    const index = pointed === -1 ? undefined : pointed;
    const step = { ArrowLeft: -1, ArrowRight: 1, PageUp: -30, PageDown: 30 }[event.key];
    if (step !== undefined) point(Math.max(0, Math.min(end, (index ?? end - step) + step)));
    else if (event.key === 'Home') point(0);
    else if (event.key === 'End') point(end);
    else if (event.key === 'Escape') point(null);
    else if (event.key === 'Enter' && index !== undefined) {
      const line = chart.lines.find(({ behind }) => behind[index]! > 0);
      openAt(chart, index, line?.key);
    } else return;
    event.preventDefault();
  };
  const zoned = chart.by === 'hour' ? `Hours are in ${zone.value}.` : 'Days are in UTC.';
  return (
    <div class={pane ? 'beside' : undefined}>
      <div>
        <figure class={dark ? 'chart dark' : 'chart'}>
          <div
            ref={box}
            class="canvas"
            style={{ minHeight: `${height + 110}px` }}
            role="application"
            // biome-ignore lint/a11y/noNoninteractiveTabindex: arrow keys move its cursor
            tabIndex={0}
            aria-label={label}
            onKeyDown={onKey}
            onBlur={() => point(null)}
          >
            {hover && pointed >= 0 && (
              <ReadOut chart={chart} index={pointed} left={hover.left} width={width} />
            )}
          </div>
          <Legend chart={chart} />
        </figure>
        {track}
        <p class="quiet note">{[...notes, zoned].filter(Boolean).join(' ')}</p>
      </div>
      {pane}
    </div>
  );
}

function openAt(chart: Chart, index: number, key: string | undefined): void {
  const of = key ?? address.value.get('of');
  go({ at: bucketText(chart.starts[index]!, chart.by), of, days: null, pane: null });
}

function ReadOut(props: { chart: Chart; index: number; left: number; width: number }) {
  const { chart, index, left, width } = props;
  const title = titleOf(chart.starts[index]!, chart.by);
  const side = left > width / 2 ? { right: `${width - left + 14}px` } : { left: `${left + 14}px` };
  return (
    <div class="tip readout" style={side} role="status">
      <strong>{title[0]!.toUpperCase() + title.slice(1)}</strong>
      <table>
        <tbody>
          {chart.lines.flatMap(({ key, place }) =>
            (chart.now ? [chart, chart.now] : [chart]).map((of, time) => (
              <Read key={`${key} ${time}`} chart={of} place={place} index={index}>
                {chart.now && <b>{['then', 'now'][time]}</b>}
              </Read>
            )),
          )}
        </tbody>
      </table>
    </div>
  );
}

function Read(props: { chart: Chart; place: number; index: number; children: ComponentChildren }) {
  const { chart, place, index, children } = props;
  const line = chart.lines[place]!;
  const count = line.headlines[index]!;
  const state = line.states[index]!;
  return (
    <tr>
      <th scope="row">
        {line.title} {children}
      </th>
      <td class="number">
        <Sign place={place} />
        {score(meanAt(line, index))}
      </td>
      <td class="number">
        {count > 0 && number(line.behind[index]!)}{' '}
        <span class="quiet">
          {count === 0 || state !== 'covered'
            ? stateWords(state, chart)
            : line.behind[index] === 1
              ? chart.counted
              : `${chart.counted}s`}
          {count > 0 && isTrailing(chart, index) && ` in ${chart.smooth} days`}
        </span>
      </td>
    </tr>
  );
}

function Legend({ chart }: { chart: Chart }) {
  const has = (state: State) => chart.lines.some(({ states }) => states.includes(state));
  const rings = [has('incomplete') && `incomplete ${chart.by}`, has('cut') && `part of a ${chart.by}`];
  return (
    <div class="row apart legend lines-legend">
      {chart.lines.map((line) => (
        <span key={line.key}>
          <Sign place={line.place} />
          <b class="name">{line.title}</b> <span class="quiet">{summaryOf(chart, line)}</span>
        </span>
      ))}
      {(has('missing') || has('incomplete')) && (
        <span class="quiet">
          <Sample of="hatch" />
          not loaded, or not complete yet
        </span>
      )}
      {rings.some(Boolean) && (
        <span class="quiet">
          <Sample of="ring" />
          {rings.filter(Boolean).join(', or ')}
        </span>
      )}
    </div>
  );
}

function summaryOf(chart: Chart, line: Line): string {
  const { headlines, means, counts, states } = line;
  const gaps = gapsOf(chart, line);
  if (sum(headlines) === 0)
    return states.some(isLoaded) ? [`no ${chart.counted}s`, ...gaps].join(' · ') : 'not loaded';
  const scored = sum(counts);
  const mean = scored > 0 ? sum(means, (mean, index) => (mean ?? 0) * counts[index]!) / scored : null;
  return [score(mean), `${number(sum(headlines))} ${chart.counted}s`, ...gaps].join(' · ');
}

function gapsOf({ by }: Chart, { states }: Line): string[] {
  const count = (state: string, what: string) => {
    const buckets = states.filter((one) => one === state).length;
    return buckets === 0 ? [] : [`${counted(buckets, by)} ${what}`];
  };
  return [...count('missing', 'not loaded'), ...count('incomplete', 'not complete')];
}
