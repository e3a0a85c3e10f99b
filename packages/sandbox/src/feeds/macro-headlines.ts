import { pairOf } from '../generate/headlines-of-day.ts';
import { readChoice } from '../paging/parameters.ts';
import { comparePositions } from '../position.ts';
import { toWireRecord } from '../wire-record.ts';
import { writeNumber } from '../wire-values.ts';
import type { Feed, PagedFeed } from './feed.ts';
import { headlinesServed } from './gmsi-headlines.ts';
import { countriesOf, findModel, INDEX_TYPES, REGIONAL_TOPICS, scoresBy } from './macro-indices.ts';

/** A record for each headline, country and topic of which the model has scores. */
const series: Feed['series'] = (parameters, query, view) => {
  const model = findModel(parameters);
  const countries = countriesOf(query.country_preset ?? 'G20');
  const matchTypes = Object.keys(INDEX_TYPES) as (keyof typeof INDEX_TYPES)[];
  const matchType = INDEX_TYPES[readChoice(query, 'match_type', matchTypes)];
  const look = view.settings.records;
  return {
    asked: ['headlines', model, countries.map(({ code }) => code), matchType],
    itemsOfDay: (day) =>
      countries
        .flatMap((country) => REGIONAL_TOPICS.map((topic) => pairOf(view.settings, country, topic)))
        .flatMap((pair) =>
          headlinesServed(view, pair, matchType, day).flatMap((headline) => {
            const scores = scoresBy(model, headline);
            if (!scores) return [];
            const toWire = () => {
              const record = Object.entries(toWireRecord(headline, pair, view));
              const others = record.filter(([name]) => !/^(directional|semantic)/.test(name));
              return {
                ...Object.fromEntries(others),
                country: pair.country.name,
                sentiment_score: writeNumber(scores.score, look),
                bearish_probability: writeNumber(scores.negative, look),
                neutral_probability: writeNumber(scores.neutral, look),
                bullish_probability: writeNumber(scores.positive, look),
              };
            };
            // A headline may stand under several topics of a country. Without spaces, which end an id in a cursor.
            const id = `${headline.id}-${pair.country.code}-${pair.topic.name.replaceAll(' ', '_')}`;
            return [{ publishedAt: headline.publishedAt, id, toWire }];
          }),
        )
        .sort(comparePositions),
  };
};

/** Headlines of a group of countries, scored by a model (docs/service.md, "Macro feeds": all likely). */
export const macroHeadlines: PagedFeed<'macro-headlines'> = {
  kind: 'paged',
  name: 'macro-headlines',
  method: 'GET',
  route: '/v1/headlines/feed/historical/macro/:model',
  historyLimitDays: ({ tickerHistoryLimitDays }) => tickerHistoryLimitDays,
  series,
};
