import type { FastifyReply } from 'fastify';
import type { Fault } from './faults/fault.ts';

/** Sends a JSON body, or as much of it as the fault allows. @returns true if all of it was sent */
export function sendBody(reply: FastifyReply, body: Buffer, fault: Fault | null): boolean {
  if (fault?.kind !== 'truncate' && fault?.kind !== 'hang') {
    reply.type('application/json').send(body);
    return true;
  }
  const { raw } = reply;
  reply.hijack();
  raw.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length });
  const half = body.subarray(0, Math.floor(body.length / 2));
  raw.write(half, () => {
    if (fault.kind === 'truncate') raw.socket?.destroy();
  });
  return false;
}
