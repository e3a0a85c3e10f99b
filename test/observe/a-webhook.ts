import { Secret } from '../../src/secret.ts';
import { webServer } from '../support/other-servers.ts';

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
  const server = await webServer(async (request, response) => {
    const body: Buffer[] = [];
    for await (const chunk of request) body.push(chunk);
    tries += 1;
    if (webhook.answer < 300) taken.push(JSON.parse(Buffer.concat(body).toString()));
    response.writeHead(webhook.answer, { location: '/elsewhere' }).end();
  });
  const webhook: Webhook = {
    url: new Secret(`${server.url}/services/T0/t0ken-0f-a-webhook`),
    taken,
    get tries() {
      return tries;
    },
    answer: 200,
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
  return webhook;
}
