import type { FastifyInstance } from 'fastify';
import { sendBody } from '../answer.ts';
import { SOURCES } from '../generate/texts.ts';
import { COUNTRIES } from '../world/countries.ts';
import { LANGUAGE_NAMES } from '../world/languages.ts';
import { ASSET_CLASSES, TICKERS } from '../world/tickers.ts';
import { CATEGORIES, TOPICS, type Topic } from '../world/topics.ts';

type Entry = Readonly<Record<string, unknown>>;

/** Serves countries, GMSI topics, tickers, sources and languages (docs/service.md, "Lookups"). Their shapes are a guess. */
export function serveLookups(app: FastifyInstance): void {
  const serve = (route: string, entries: readonly Entry[]) =>
    app.get(route, (request, reply) => {
      sendBody(reply, Buffer.from(JSON.stringify(entries)), request.fault);
      return reply;
    });

  const tickers = TICKERS.map(({ code, name, assetClass }) => ({
    ticker: code,
    name,
    asset_class: ASSET_CLASSES[assetClass],
  }));
  serve(
    '/v1/countries',
    COUNTRIES.map(({ code, name }) => ({ code, name })),
  );
  serve('/v1/headlines/topics/gmsi', TOPICS.map(describeTopic));
  serve('/v1/ticker', tickers);
  serve('/v1/sources', SOURCES);
  serve(
    '/v1/taxonomy/languages',
    Object.entries(LANGUAGE_NAMES).map(([code, name]) => ({ code, name })),
  );
}

function describeTopic({ name, category, phrase }: Topic): Entry {
  return {
    name,
    category: CATEGORIES[category],
    classification_rule: {
      directional: `Positive when the headline says that there is more of it, or will be: ${phrase}.`,
      semantic_sentiment: `Positive when the headline speaks of ${phrase} in a favourable tone.`,
    },
  };
}
