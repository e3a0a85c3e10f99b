import { type Day, MS_PER_DAY } from '../days.ts';
import { comparePositions } from '../position.ts';
import { mix, Random } from '../random.ts';
import { TICKER_TOPICS, type Ticker, type TickerTopic } from '../world/tickers.ts';
import type { Changing } from './as-served.ts';
import type { GenerateSettings } from './headline.ts';
import { identityOf, idOf } from './id.ts';
import { moodOf } from './mood.ts';
import { timeOfDay } from './time-of-day.ts';
import { headlinesOn } from './volume.ts';

const EVENTS_PER_DAY = 1.2;
const WORD_SHARE = 0.3;

/** `Combined` requests all; these names are made up. */
export const EVENT_TYPES = ['Realised', 'Anticipated'] as const;

export type EventType = (typeof EVENT_TYPES)[number];

/** Words that some events send as their impact (`High` is likely), with the values they stand for here. */
const IMPACT_WORDS = { High: 0.9, Medium: 0.6, Low: 0.3 } as const;

/** Something that happened to an asset. */
export interface TickerEvent extends Changing {
  readonly id: string;
  readonly topic: TickerTopic;
  readonly type: EventType;
  readonly name: string;
  readonly summary: string;
  readonly isBullish: boolean;
  /** From 0.1 to 1 in tenths, or one of the words. */
  readonly impact: number | keyof typeof IMPACT_WORDS;
}

/** Returns every event of an asset's day, oldest first, equal times by id. No two share time and name. */
export function eventsOfDay(settings: GenerateSettings, ticker: Ticker, day: Day): TickerEvent[] {
  const series = identityOf(`${settings.seed}/events/${ticker.code}`);
  const count = headlinesOn(day, series.hash, EVENTS_PER_DAY * ticker.weight * settings.volume);
  const mood = moodOf(identityOf(`${settings.seed}/${ticker.code}`).hash, day);
  const events = new Map<string, TickerEvent>();
  for (let index = 0; index < count; index++) {
    const random = new Random(mix(mix(series.hash, day), index));
    const topic = random.pick(TICKER_TOPICS[ticker.assetClass]);
    const isBullish = mood + random.normal() > 0;
    const [pattern, outlook] = random.pick(isBullish ? GOOD : BAD);
    const name = `${ticker.name}: ${pattern.replace('{s}', topic.phrase)}`;
    const publishedAt = day * MS_PER_DAY + timeOfDay(settings.records.hourShare, random).stamped * 1000;
    events.set(`${publishedAt} ${name}`, {
      id: idOf(series, day, index),
      publishedAt,
      topic,
      type: random.pick(EVENT_TYPES),
      name,
      summary: `Reports on ${topic.phrase} concern ${ticker.name}. ${outlook}`,
      isBullish,
      impact: chooseImpact(random),
      fate: mix(series.secondHash ^ day, index),
    });
  }
  return [...events.values()].sort(comparePositions);
}

/** Returns the event with another impact and a longer summary. */
export function reviseEvent(event: TickerEvent, random: Random): TickerEvent {
  return {
    ...event,
    impact: chooseImpact(random),
    summary: `${event.summary} Later reports changed the picture.`,
  };
}

/** Returns how good or bad the event is, from -1 to 1. */
export function eventScore({ isBullish, impact }: TickerEvent): number {
  const size = typeof impact === 'number' ? impact : IMPACT_WORDS[impact];
  return isBullish ? size : -size;
}

function chooseImpact(random: Random): TickerEvent['impact'] {
  if (random.share() < WORD_SHARE)
    return random.pick(Object.keys(IMPACT_WORDS) as (keyof typeof IMPACT_WORDS)[]);
  return (1 + Math.floor(10 * random.share())) / 10;
}

type Pattern = readonly [name: string, outlook: string];

const GOOD: readonly Pattern[] = [
  ['{s} better than feared', 'Traders expect prices to rise.'],
  ['relief over {s}', 'Analysts raise their targets.'],
];

const BAD: readonly Pattern[] = [
  ['setback for {s}', 'Traders expect prices to fall.'],
  ['warning on {s}', 'Analysts cut their targets.'],
];
