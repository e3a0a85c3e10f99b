import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { answerInstead } from '../faults/answer-instead.ts';
import { type Fault, type FeedKind, PAGE_FAULTS } from '../faults/fault.ts';
import { queryOf, type Service } from '../service.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The fault that this request gets. */
    fault: Fault | null;
  }
  interface FastifyContextConfig {
    /** For feeds only: faults of records apply to no other route, and faults of cursors only to paged feeds. */
    feed?: FeedKind;
  }
}

/** What every request below `/v1` goes through before its route: counting, the key, the limits, then its fault. */
export function registerGate(app: FastifyInstance, service: Service): void {
  app.decorateRequest('fault', null);
  app.addHook('onRequest', async (_request, reply) => {
    reply.raw.setHeader('server', 'gmsi-sandbox');
    reply.raw.setHeader('date', service.settings.clock().toUTCString());
  });
  // After the body is read, because it can hold the cursor.
  app.addHook('preHandler', async (request, reply) => {
    if (!request.url.startsWith('/v1/')) return;
    const key = String(request.headers['x-api-key'] ?? '');
    countUntilItLeaves(service, request, reply, key);
    if (!service.settings.keys.includes(key)) {
      return reply.code(service.settings.badKeyStatus).send({ detail: 'Invalid or missing API key' });
    }
    const tooMany = service.limiter.admit(key);
    if (tooMany !== null) {
      return reply.code(429).headers(tooMany.headers).send({ detail: tooMany.detail });
    }
    service.counts.admitted();
    const fault = faultFor(service, request);
    if (fault === null) return;
    request.fault = fault;
    // Page faults are counted where they are applied, because a refused request, for example, does not get any.
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
    request.routeOptions.url ?? 'unknown',
    request.routeOptions.config.feed === 'paged' ? `${key} ${cursorOf(request)}` : null,
  );
  reply.raw.once('close', () => left(reply.raw.headersSent ? reply.raw.statusCode : null));
}

/** A text that is the same for all requests of one drain. */
function cursorOf(request: FastifyRequest): string {
  const { limit, next_token, ...series } = queryOf(request);
  return `${request.url.split('?', 1)[0]} ${JSON.stringify(Object.entries(series).sort())}`;
}
