import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { answerInstead } from '../faults/answer-instead.ts';
import { type Fault, type FeedKind, PAGE_FAULTS } from '../faults/fault.ts';
import { queryOf, type Service } from '../service.ts';

declare module 'fastify' {
  interface FastifyRequest {
    fault: Fault | null;
  }
  interface FastifyContextConfig {
    /** Set for feeds. Other routes get no faults of records, and only paged feeds get faults of cursors. */
    feed?: FeedKind;
  }
}

/** Makes every request below `/v1` pass counting, the key, the limits and its fault before it reaches its route. */
export function registerGate(app: FastifyInstance, service: Service): void {
  app.decorateRequest('fault', null);
  app.addHook('onRequest', async (_request, reply) => {
    reply.raw.setHeader('server', 'gmsi-sandbox');
    reply.raw.setHeader('date', service.settings.clock().toUTCString());
  });
  // After the body is read, because the cursor may be in it.
  app.addHook('preHandler', async (request, reply) => {
    if (!request.url.startsWith('/v1/')) return;
    const key = String(request.headers['x-api-key'] ?? '');
    countUntilItLeaves(service, request, reply, key);
    if (!service.settings.keys.includes(key)) {
      return reply.code(401).send({ detail: 'Invalid or missing API key' });
    }
    const tooMany = service.limiter.admit(key);
    if (tooMany !== null) {
      return reply.code(429).headers(tooMany.headers).send({ detail: tooMany.detail });
    }
    service.counts.admitted();
    const fault = faultFor(service, request);
    if (fault === null) return;
    request.fault = fault;
    // Page faults are counted where they are applied: a refused request, for example, gets none.
    if (!PAGE_FAULTS.has(fault.kind)) service.counts.faultServed(fault.kind);
    if (await answerInstead(service, request, reply, fault)) return reply;
  });
}

function faultFor(service: Service, request: FastifyRequest): Fault | null {
  const query = queryOf(request);
  const path = request.url.split('?', 1)[0]!;
  const seen = { path, query, token: query.next_token ?? null };
  return service.faults.next(seen, request.routeOptions.config.feed ?? null);
}

function countUntilItLeaves(
  service: Service,
  request: FastifyRequest,
  reply: FastifyReply,
  key: string,
): void {
  const left = service.counts.arrived(
    request.routeOptions.config.feed === 'paged' ? `${key} ${cursorOf(request)}` : null,
  );
  reply.raw.once('close', () => left(reply.raw.headersSent ? reply.raw.statusCode : null));
}

/** Returns a text that is the same for all requests of one drain. */
function cursorOf(request: FastifyRequest): string {
  const { limit, next_token, ...series } = queryOf(request);
  return `${request.url.split('?', 1)[0]} ${JSON.stringify(Object.entries(series).sort())}`;
}
