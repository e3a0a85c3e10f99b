import type { FastifyInstance } from 'fastify';
import { queryOf, type Service } from './service.ts';
import { truthOf } from './truth.ts';
import { truthOfFeed } from './truth-of-feed.ts';

/** Answers other processes' questions about the sandbox itself, without a key and uncounted. */
export function serveObservation(app: FastifyInstance, service: Service): void {
  app.get('/_sandbox/stats', () => service.counts.stats());

  /** Takes `country`, `topic`, `match_type`, `from` and `to`; or `feed` and what `truthOfFeed` takes. */
  app.get('/_sandbox/truth', (request) => {
    const { feed, ...query } = queryOf(request);
    if (feed !== undefined) return truthOfFeed(service.settings, feed, query);
    const { country = '', topic = '', match_type: matchType = 'COMBINED', from = '', to = '' } = query;
    return truthOf(service.settings, { country, topic, matchType, from, to });
  });
}
