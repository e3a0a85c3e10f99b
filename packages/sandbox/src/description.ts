import type { FastifyInstance } from 'fastify';
import { FEEDS } from './feeds/catalog.ts';
import { MATCH_TYPES } from './feeds/gmsi-headlines.ts';
import { TICKER_MATCH_TYPES } from './feeds/ticker-headlines.ts';
import type { Service } from './service.ts';

const regional = [...TICKER_MATCH_TYPES, ...MATCH_TYPES.slice(1)];

/** The choices of each parameter of a feed; `null` if any text is accepted. */
const PARAMETERS: Readonly<Record<string, Readonly<Record<string, readonly string[] | null>>>> = {
  'gmsi-headlines': { topic: null, match_type: MATCH_TYPES },
  'gmsi-index': { topic: null, index_type: MATCH_TYPES },
  'regional-index': { index_type: regional },
  'global-index': { index_type: regional },
  'macro-headlines': { match_type: regional, country_preset: null },
  'ticker-headlines': { match_type: TICKER_MATCH_TYPES },
  'ticker-index': { index_type: TICKER_MATCH_TYPES },
};

/** Serves `/openapi.json`, without a key and uncounted. Its shape is that of FastAPI (docs/service.md, "Its own description"). */
export function serveDescription(app: FastifyInstance, { settings }: Service): void {
  const dates = ['start_date', ...(settings.endDate === 'ignored' ? [] : ['end_date'])];
  const paths = FEEDS.map((feed) => {
    const inPath = [...feed.route.matchAll(/:(\w+)/g)].map(([, name]) => parameter(name!, 'path', null));
    const own = Object.entries(PARAMETERS[feed.name.replace(/-live$/, '')] ?? {});
    const inQuery = [
      ...own.map(([name, choices]) => parameter(name, 'query', choices)),
      ...(feed.kind === 'paged' ? [...dates, 'next_token'] : []).map((name) =>
        parameter(name, 'query', null),
      ),
      { ...parameter('limit', 'query', null), schema: { type: 'integer', maximum: 1000, default: 100 } },
    ];
    const method = feed.kind === 'paged' ? feed.method.toLowerCase() : 'get';
    return [feed.route.replace(/:(\w+)/g, '{$1}'), { [method]: { parameters: [...inPath, ...inQuery] } }];
  });
  const page = {
    required: ['data', 'limit', 'has_more'],
    properties: {
      data: { type: 'array', items: { type: 'object' } },
      limit: { type: 'integer' },
      has_more: { type: 'boolean' },
      next_token: { anyOf: [{ type: 'string' }, { type: 'null' }] },
    },
  };
  const description = {
    openapi: '3.1.0',
    info: { title: 'gmsi sandbox', version: '1.0.0' },
    paths: Object.fromEntries(paths),
    components: { schemas: { Page: page } },
  };
  app.get('/openapi.json', () => description);
}

function parameter(name: string, place: 'path' | 'query', choices: readonly string[] | null) {
  const required = place === 'path' || name === 'topic';
  return { name, in: place, required, schema: { type: 'string', ...(choices && { enum: choices }) } };
}
