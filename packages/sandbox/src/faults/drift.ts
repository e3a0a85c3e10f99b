import { isObject } from '../service.ts';
import type { DriftKind } from './fault.ts';

type Fields = Record<string, unknown>;

const SCORE = /^(directional|semantic|sentiment|bearish|neutral|bullish|impact)/;
const BARE = { 'bare-nan': '\u0001NaN\u0001', 'bare-infinity': '\u0001Infinity\u0001' } as const;

/** Applies the first drift to the first record, the second to the second, and so on. Other records stay as they are. */
export function drifted(records: readonly unknown[], drifts: readonly DriftKind[]): unknown[] {
  return records.map((record, i) => {
    const drift = drifts[i];
    return drift === undefined ? record : driftOne(record as Fields, drift);
  });
}

/** Writes JSON as some services do, with NaN and Infinity, which JSON does not allow. */
export function stringifyDrifted(value: unknown): string {
  return JSON.stringify(value).replace(/"\\u0001(NaN|Infinity)\\u0001"/g, '$1');
}

function driftOne(record: Fields, drift: DriftKind): unknown {
  switch (drift) {
    case 'renamed-field': {
      const name = firstOf(record, ['topic_probability', 'topic_name', 'event_type']);
      return { ...without(record, (it) => it === name), [camelCase(name)]: record[name] };
    }
    case 'new-field':
      return { ...record, sandbox_field: { name: 'drift', major: 4 } };
    case 'vanished-field':
      return without(record, (name) => name === firstOf(record, ['match_type', 'event_type', 'topic_name']));
    case 'nul-character':
      return withText(record, 'a NUL \u0000 in a text');
    case 'lone-surrogate':
      return withText(record, 'half a character \ud83d in a text');
    case 'score-as-string':
      return withScore(record, (score) => String(score));
    case 'no-time':
      return without(record, (name) => /_(time|date)$/.test(name));
    case 'no-score':
      return without(record, (name) => SCORE.test(name));
    case 'not-an-object':
      return 'a record that is no object';
    case 'bare-nan':
    case 'bare-infinity':
      return withScore(record, () => BARE[drift]);
  }
}

function without(record: Fields, isGone: (name: string) => boolean): Fields {
  return Object.fromEntries(Object.entries(record).filter(([name]) => !isGone(name)));
}

/** Returns the first of the names that the record has. */
function firstOf(record: Fields, names: readonly [string, ...string[]]): string {
  return names.find((name) => name in record) ?? names[0];
}

function camelCase(name: string): string {
  return name.replace(/_./g, (end) => end.slice(1).toUpperCase());
}

function withText(record: Fields, text: string): Fields {
  return { ...record, [firstOf(record, ['headline', 'event_name', 'topic_name', 'ticker'])]: text };
}

function withScore(record: Fields, change: (score: unknown) => unknown): Fields {
  const name = Object.keys(record).find((it) => SCORE.test(it) && record[it] !== null);
  if (name === undefined) return record;
  const score = record[name];
  return {
    ...record,
    [name]: isObject(score) ? { ...score, positive: change(score.positive) } : change(score),
  };
}
