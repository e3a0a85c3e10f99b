import type { FastifyInstance } from 'fastify';
import { sendBody } from '../answer.ts';
import { invalidParameter } from '../refusal.ts';
import { type Query, queryOf, type Service } from '../service.ts';
import { COUNTRIES, type Country } from '../world/countries.ts';
import { CATEGORIES, TOPICS, type Topic } from '../world/topics.ts';

/** The countries, their search and the GMSI topics (service-document 4.3; their shapes are only likely). */
export function serveLookups(app: FastifyInstance, service: Service): void {
  const isBare = service.settings.lookups === 'strings';
  const countryOut = ({ code, name }: Country) => (isBare ? code : { code, name });
  const topicOut = (topic: Topic) => (isBare ? topic.name : describeTopic(topic));
  const serve = (route: string, list: (query: Query) => unknown) =>
    app.get(route, (request, reply) => {
      sendBody(reply, Buffer.from(JSON.stringify(list(queryOf(request)))), request.fault);
      return reply;
    });

  serve('/v1/countries', () => COUNTRIES.map(countryOut));
  serve('/v1/countries/search', (query) => searchCountries(query).map(countryOut));
  serve('/v1/headlines/topics/gmsi', () => TOPICS.map(topicOut));
}

function searchCountries({ keywords }: Query): Country[] {
  if (keywords === undefined) throw invalidParameter('keywords', 'Field required', undefined);
  const wanted = keywords.toLowerCase();
  return COUNTRIES.filter(({ code, name }) => `${code} ${name}`.toLowerCase().includes(wanted));
}

function describeTopic({ name, category, phrase }: Topic) {
  return {
    name,
    category: CATEGORIES[category],
    classification_rule: {
      directional: `Positive when the headline says that things improve for ${phrase}.`,
      semantic_sentiment: `Positive when the headline speaks of ${phrase} in a favourable tone.`,
    },
  };
}
