import { type Day, MS_PER_DAY } from '../days.ts';
import { comparePositions } from '../position.ts';
import { mix, Random } from '../random.ts';
import { LANGUAGES, type Language } from '../world/languages.ts';
import type { Ticker } from '../world/tickers.ts';
import type { Changing } from './as-served.ts';
import { eventsOfDay, type TickerEvent } from './events-of-day.ts';
import type { GenerateSettings } from './headline.ts';
import { identityOf, idOf } from './id.ts';
import { anyNumber, chooseSource, reviseText, writeHeadline } from './texts.ts';

const MOST_PER_EVENT = 5;

/** A headline about an event, published on the event's day and not before the event. */
export interface EventHeadline extends Changing {
  readonly id: string;
  readonly event: TickerEvent;
  readonly text: string;
  readonly language: Language;
  readonly source: string;
}

/** Returns one to five headlines about each event of an asset's day, oldest first, equal times by id. */
export function eventHeadlinesOfDay(settings: GenerateSettings, ticker: Ticker, day: Day): EventHeadline[] {
  const series = identityOf(`${settings.seed}/event headlines/${ticker.code}`);
  const headlines = eventsOfDay(settings, ticker, day).flatMap((event, i) => {
    const random = new Random(mix(mix(series.hash, day), i));
    const count = 1 + Math.floor(MOST_PER_EVENT * random.share());
    return Array.from({ length: count }, (_, j): EventHeadline => {
      const language = random.pick(LANGUAGES);
      const leaning = event.isBullish ? 1 : -1;
      const secondsLeft = ((day + 1) * MS_PER_DAY - event.publishedAt) / 1000;
      return {
        id: idOf(series, day, i * MOST_PER_EVENT + j),
        event,
        publishedAt: event.publishedAt + 1000 * Math.floor(secondsLeft * random.share() ** 3),
        text: writeHeadline(language, ticker.name, event.topic, leaning, anyNumber(random), random),
        language,
        source: chooseSource(language, random),
        fate: mix(series.secondHash ^ day, i * MOST_PER_EVENT + j),
      };
    });
  });
  return headlines.sort(comparePositions);
}

/** Returns the headline, sometimes with another text. */
export function reviseEventHeadline(headline: EventHeadline, random: Random): EventHeadline {
  return { ...headline, text: reviseText(headline, random) };
}
