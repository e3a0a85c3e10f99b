import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Secret } from '../../src/secret.ts';

export interface Posted {
  readonly text: string;
  readonly kind: string;
  readonly job: string;
  readonly status: 'raised' | 'resolved';
  readonly details: Readonly<Record<string, unknown>>;
  readonly at: string;
}

/** A receiver of alerts. */
export interface Webhook extends AsyncDisposable {
  readonly url: Secret;
  /** What it has taken. */
  readonly taken: readonly Posted[];
  /** How often it was asked to take something. */
  readonly tries: number;
  /** The status that it answers with. */
  answer: number;
}

export async function aWebhook(): Promise<Webhook> {
  const taken: Posted[] = [];
  let tries = 0;
  const server = createServer(async (request, response) => {
    const body: Buffer[] = [];
    for await (const chunk of request) body.push(chunk);
    tries += 1;
    if (webhook.answer < 300) taken.push(JSON.parse(Buffer.concat(body).toString()));
    response.writeHead(webhook.answer, { location: '/elsewhere' }).end();
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const { port } = server.address() as AddressInfo;
  const webhook: Webhook = {
    url: new Secret(`http://127.0.0.1:${port}/services/T0/t0ken-0f-a-webhook`),
    taken,
    get tries() {
      return tries;
    },
    answer: 200,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
  return webhook;
}
