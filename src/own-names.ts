import { isIP } from 'node:net';
import { hostname } from 'node:os';
import type { FastifyInstance } from 'fastify';

/**
 * Refuses requests whose host is not an address, `localhost`, this machine's name, or one of `names`. Otherwise another site
 * could read the answers in a visitor's browser, through a domain that resolves to this machine.
 * @param hint says how to add a name
 */
export function answerOwnNamesOnly(app: FastifyInstance, names: readonly string[], hint: string): void {
  const own = new Set(['localhost', hostname(), ...names].map((name) => name.toLowerCase()));
  app.addHook('onRequest', async ({ headers }, reply) => {
    const asked = `http://${headers.host ?? ''}`;
    const name = URL.canParse(asked) ? new URL(asked).hostname.replace(/\.$/, '') : undefined;
    if (name !== undefined && (isIP(name.replace(/^\[|\]$/g, '')) > 0 || own.has(name))) return;
    const error =
      name === undefined ? 'A request must name its host.' : `This server is not known as ${name}.`;
    return reply.code(421).send({ error, hint });
  });
}
