import { setTimeout as delay } from 'node:timers/promises';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { retryAfterHeader } from '../gate/limiter.ts';
import type { Service } from '../service.ts';
import type { Fault } from './fault.ts';

/**
 * Answers a request with its fault, if the fault replaces the service's answer. Waits if the fault is a delay, and cuts the
 * connection if the sandbox stops meanwhile.
 * @returns true if it has answered
 */
export async function answerInstead(
  service: Service,
  request: FastifyRequest,
  reply: FastifyReply,
  fault: Fault,
): Promise<boolean> {
  switch (fault.kind) {
    case 'latency':
      return delay(fault.ms, false, { signal: service.stopping }).catch(() => {
        reply.hijack();
        request.raw.socket.destroy();
        return true;
      });
    case 'rate-limited': {
      const now = service.settings.clock();
      reply.headers(retryAfterHeader(fault.retryAfter, fault.seconds, now));
      reply.code(429).send({ detail: 'Too many requests' });
      return true;
    }
    case 'server-error':
      reply.code(fault.status).send({ detail: 'Internal error' });
      return true;
    case 'html':
      reply.code(fault.status).type('text/html').send(GATEWAY_PAGE);
      return true;
    case 'malformed':
      reply.send({ status: 'ok', result: { count: 0 } });
      return true;
    case 'auth':
      reply.code(fault.status).send({ detail: 'Invalid API key' });
      return true;
    case 'refuse':
      reply.code(fault.status).send({ detail: fault.detail });
      return true;
    case 'reset':
      reply.hijack();
      request.raw.socket.resetAndDestroy();
      return true;
    default:
      return false;
  }
}

const GATEWAY_PAGE = `<!DOCTYPE html>
<html><head><title>502 Bad Gateway</title></head><body><center><h1>502 Bad Gateway</h1></center></body></html>
`;
