import { Temporal } from 'temporal-polyfill';
import { z } from 'zod';

/** The facts that a probe tests, in the order of the report. */
export const factNames = ['end_date', 'day_begin', 'time_rounding', 'history_limit'] as const;
export type FactName = (typeof factNames)[number];

/** Bounds of the true offset from UTC in minutes, both included. */
const minutes = z.object({ least: z.number(), most: z.number() });
export type Minutes = z.infer<typeof minutes>;

/** The oldest day answered, the youngest refused (if any), and the day of the probe. */
const reach = z.object({ answered: z.string(), refused: z.string().nullable(), asked_on: z.string() });
export type Reach = z.infer<typeof reach>;

/** A word, or bounds if probes cannot show more. */
const factValue = z.union([z.string(), minutes, reach]);
export type FactValue = z.infer<typeof factValue>;

/** The result of a probe for one fact: learned or not, and why. */
export type ProbeFinding =
  | { readonly value: FactValue; readonly evidence: string }
  | { readonly value?: undefined; readonly reason: string };

export type ProbeFindings = Readonly<Record<FactName, ProbeFinding>>;

/** Reads a value as stored in the warehouse. */
export function readFactValue(json: unknown): FactValue {
  return factValue.parse(json);
}

/** Returns whether two probes agree: words must be equal, bounds must overlap. */
export function agree(a: FactValue, b: FactValue): boolean {
  if (typeof a === 'string' || typeof b === 'string') return a === b;
  if ('answered' in a && 'answered' in b) return agreeOnReach(a, b);
  if ('least' in a && 'least' in b) return a.least <= b.most && b.least <= a.most;
  return false;
}

/** The limit may move with the calendar or stay on one day. If either explains both results, nothing has changed. */
function agreeOnReach(a: Reach, b: Reach): boolean {
  const age = (reach: Reach, day: string) => daysBetween(day, reach.asked_on);
  const byAge =
    (b.refused === null || age(a, a.answered) < age(b, b.refused)) &&
    (a.refused === null || age(b, b.answered) < age(a, a.refused));
  const byDay =
    (b.refused === null || a.answered > b.refused) && (a.refused === null || b.answered > a.refused);
  return byAge || byDay;
}

/** Counts the days between two days. */
export function daysBetween(from: string, to: string): number {
  return Temporal.PlainDate.from(from).until(to, { largestUnit: 'day' }).days;
}

/** Describes a value for a person. */
export function describeValue(value: FactValue): string {
  if (typeof value === 'string') return value;
  if ('least' in value) {
    const { least, most } = value;
    if (least <= 0 && most >= 0) return "0:00 of the records' times";
    const [from, to] = [Math.abs(least) / 60, Math.abs(most) / 60].sort((a, b) => a - b);
    return `${from} to ${to} h ${least < 0 ? 'before' : 'after'} 0:00 of the records' times`;
  }
  const { answered, refused, asked_on } = value;
  const days = daysBetween(answered, asked_on);
  return `answers ${answered} (${days} days back)${refused === null ? '' : `, refuses ${refused}`}`;
}
