import { daysBetween, plusDays } from '../time.ts';
import { clearedCanvas, font } from './canvas.ts';
import { coloursOf } from './colours.ts';
import { type State, states } from './states.ts';

/** The days of a period of a series. */
export interface DayStates {
  readonly from: string;
  /** The index of each day's state in `states`; -1 if it was never requested. */
  readonly state: Int8Array;
  /** How much news each day had; `undefined` if that is not known. */
  readonly news: Int32Array | undefined;
}

interface Range {
  readonly first_day: string;
  readonly last_day: string;
}

/** Returns the state of each day. As in the warehouse, covered wins, then running, failed, refused, waiting, settling. */
export function dayStates(
  { from, to }: { readonly from: string; readonly to: string },
  covered: readonly Range[],
  windows: readonly (Range & { readonly state: State })[],
  news: readonly { readonly at: string; readonly headlines: number }[] | undefined,
): DayStates {
  const length = daysBetween(from, to);
  const state = new Int8Array(length).fill(-1);
  const paint = ({ first_day, last_day }: Range, as: State) => {
    const first = Math.max(0, daysBetween(from, first_day) - 1);
    state.fill(states.indexOf(as), first, Math.max(first, daysBetween(from, last_day)));
  };
  for (const as of ['settling', 'pending', 'refused', 'failed', 'running'] as const)
    for (const window of windows) if (window.state === as) paint(window, as);
  for (const range of covered) paint(range, 'covered');
  const counts = news && new Int32Array(length);
  for (const { at, headlines } of news ?? []) {
    const day = daysBetween(from, at.slice(0, 10)) - 1;
    if (counts && day >= 0 && day < length) counts[day]! += headlines;
  }
  return { from, state, news: counts };
}

/** Days as squares: a column for each week, Monday on top, a band for each year, the latest year first. */
export interface CalendarLayout {
  readonly years: readonly number[];
  readonly pitch: number;
  readonly left: number;
  readonly band: number;
  readonly width: number;
  readonly height: number;
}

const head = 14;

export function calendarLayout({ from, state }: DayStates, width: number): CalendarLayout {
  const [first, last] = [yearOf(from), yearOf(plusDays(from, state.length - 1))];
  const years = Array.from({ length: last - first + 1 }, (_, index) => last - index);
  const left = 34;
  const pitch = Math.min(13, (width - left) / 54);
  const band = pitch * 7 + 8;
  return { years, pitch, left, band, width, height: head + band * years.length };
}

function yearOf(day: string): number {
  return Number(day.slice(0, 4));
}

/** Returns the column and the line of a day in the band of its year. */
function weekAndDay(day: string): readonly [week: number, weekday: number] {
  const first = new Date(`${day.slice(0, 4)}-01-01`);
  const shift = (first.getUTCDay() + 6) % 7;
  const index = shift + (Date.parse(day) - first.getTime()) / 86_400_000;
  return [Math.floor(index / 7), index % 7];
}

/** Returns where a day is drawn. */
export function placeOfDay(layout: CalendarLayout, day: string): readonly [x: number, y: number] {
  const [week, weekday] = weekAndDay(day);
  const band = layout.years.indexOf(yearOf(day));
  return [layout.left + week * layout.pitch, head + band * layout.band + weekday * layout.pitch];
}

/** Returns the day at a point, if there is one. */
export function dayAt(layout: CalendarLayout, x: number, y: number): string | undefined {
  const year = layout.years[Math.floor((y - head) / layout.band)];
  const weekday = Math.floor(((y - head) % layout.band) / layout.pitch);
  const week = Math.floor((x - layout.left) / layout.pitch);
  if (year === undefined || y < head || week < 0 || weekday > 6) return undefined;
  const [, shift] = weekAndDay(`${year}-01-01`);
  const day = plusDays(`${year}-01-01`, week * 7 + weekday - shift);
  return yearOf(day) === year ? day : undefined;
}

/** Returns the least count of each of up to four shades, chosen so that each has about as many days. */
export function steps(news: Int32Array | undefined): readonly number[] {
  const some = news?.filter((count) => count > 0).sort() ?? new Int32Array();
  const least = [1];
  for (const part of [0.25, 0.5, 0.75]) {
    const next = Math.max(some[Math.floor(some.length * part)] ?? 1, least.at(-1)! + 1);
    if (next <= (some.at(-1) ?? 0)) least.push(next);
  }
  return least;
}

const shades = [0.4, 0.6, 0.8, 1];

/**
 * Draws the calendar. A covered day is darker the more news it had, and hollow if it had none, because silence is not a gap.
 * Other states also differ by shape.
 */
export function drawCalendar(canvas: HTMLCanvasElement, days: DayStates, layout: CalendarLayout): void {
  const colours = coloursOf([...states, 'never', 'quiet', 'paper']);
  const context = clearedCanvas(canvas, layout.width, layout.height);
  const size = layout.pitch - (layout.pitch > 6 ? 1.5 : 1);
  const least = steps(days.news);
  context.fillStyle = colours.quiet;
  context.font = font(10);
  context.textBaseline = 'top';
  for (const [band, year] of layout.years.entries())
    context.fillText(String(year), 0, head + band * layout.band + 1);
  for (const [month, name] of [...'JFMAMJJASOND'].entries()) {
    const [x] = placeOfDay(layout, `${layout.years[0]}-${String(month + 1).padStart(2, '0')}-01`);
    context.fillText(name, x, 0);
  }
  for (let index = 0; index < days.state.length; index++) {
    const [x, y] = placeOfDay(layout, plusDays(days.from, index));
    const state = states[days.state[index]!];
    context.fillStyle = context.strokeStyle = state ? colours[state] : colours.never;
    context.lineWidth = 1;
    if (state === 'covered' && days.news) {
      const count = days.news[index]!;
      if (count === 0) context.strokeRect(x + 0.5, y + 0.5, size - 1, size - 1);
      else {
        context.globalAlpha = shades[least.filter((one) => count >= one).length - 1]!;
        context.fillRect(x, y, size, size);
        context.globalAlpha = 1;
      }
    } else {
      context.fillRect(x, y, size, size);
      if (state === 'failed' || state === 'refused') cross(context, x, y, size, state, colours.paper);
    }
  }
}

/** Draws a cross for failed and a bar for refused, which differ even without colours. */
function cross(
  context: CanvasRenderingContext2D,
  x: number,
  y: number,
  size: number,
  state: 'failed' | 'refused',
  colour: string,
): void {
  const inset = size / 4;
  context.strokeStyle = colour;
  context.beginPath();
  if (state === 'failed') {
    context.moveTo(x + inset, y + inset);
    context.lineTo(x + size - inset, y + size - inset);
    context.moveTo(x + size - inset, y + inset);
    context.lineTo(x + inset, y + size - inset);
  } else {
    context.moveTo(x + inset, y + size / 2);
    context.lineTo(x + size - inset, y + size / 2);
  }
  context.stroke();
}
