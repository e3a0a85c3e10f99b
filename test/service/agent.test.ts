import { beforeAll, describe, expect, it } from 'vitest';
import { readProxies } from '../../src/config/proxies.ts';
import { defaultServiceSettings } from '../../src/config/service-schema.ts';
import { exitCodeOf, explain } from '../../src/exit.ts';
import { Secret } from '../../src/secret.ts';
import { createClient } from '../../src/service/client.ts';
import { withoutMarks } from '../../src/terminal/style.ts';
import { aProxy, type ProxyWish, withCredentials } from '../support/a-proxy.ts';
import { cases } from '../support/cases.ts';
import {
  aCertificate,
  type Certificate,
  freePort,
  hangsUp,
  mailServer,
  tcpServer,
  webServer,
} from '../support/other-servers.ts';
import { jumpingClock } from './clocks.ts';

/** A host that only the proxy knows. */
const host = 'api.example.invalid';
const key = 'sandbox-key';
const signal = new AbortController().signal;
let own: Certificate;
beforeAll(async () => {
  own = await aCertificate();
});

function clientOf(proxy: string, baseUrl = `http://${host}`, changes: object = {}) {
  const permits = { booked: 0 };
  const client = createClient({
    baseUrl,
    apiKey: new Secret(key),
    settings: { ...defaultServiceSettings, connectTimeout: 300, maxAttempts: 6 },
    userAgent: 'test',
    permits: {
      async take() {
        permits.booked += 1;
        return { cancel: async () => void permits.booked-- };
      },
    },
    answered: new Set(),
    clock: jumpingClock(),
    proxyFor: readProxies({
      HTTPS_PROXY: proxy,
      HTTP_PROXY: proxy,
      ALL_PROXY: undefined,
      NO_PROXY: undefined,
    })!,
    ...changes,
  });
  return { client, permits };
}

const ask = (client: ReturnType<typeof createClient>) =>
  client.getJson({ path: '/countries', query: {} }, signal);

it('reaches a host that only the proxy knows, over connections that are kept', async () => {
  const connections = new Set<unknown>();
  await using service = await webServer((request, response) => {
    connections.add(request.socket);
    response.end(JSON.stringify([request.headers.host, request.headers['x-api-key']]));
  });
  const credentials = 'dan:p@ss:word';
  await using proxy = await aProxy({ credentials, hosts: { [`${host}:80`]: service.port } });
  const { client } = clientOf(withCredentials(proxy, 'dan:p%40ss%3Aword'));
  await using _ = client;
  for (let request = 0; request < 3; request += 1) expect(await ask(client)).toEqual([host, '[key]']);
  expect(proxy.asked).toEqual([`${host}:80`]);
  expect(connections.size).toBe(1);
  expect(proxy.passed).toContain(`x-api-key: ${key}`);
  expect(proxy.passed).not.toContain('proxy-authorization');
});

it.each(['http:', 'https:'])('that says nothing, at %s, ends after connect_timeout', async (protocol) => {
  await using silent = await tcpServer(() => {});
  const { client } = clientOf(`${protocol}//127.0.0.1:${silent.port}`);
  await using _ = client;
  const startedAt = performance.now();
  await expect(ask(client)).rejects.toThrow(/it does not answer within 300 ms \(given up after 1 try\)$/);
  expect(performance.now() - startedAt).toBeLessThan(9_000);
});

it('that connects to a server that says nothing, ends after connect_timeout', async () => {
  await using service = await tcpServer(() => {});
  await using silent = await aProxy({ hosts: { [`${host}:443`]: service.port } });
  const { client } = clientOf(silent.url, `https://${host}`);
  await using _ = client;
  await expect(ask(client)).rejects.toThrow('No connection within 300 ms');
});

const wishes: Record<string, ProxyWish & { readonly answer?: number }> = {
  401: { answer: 401 },
  403: { answer: 403 },
  502: { answer: 502 },
  503: { answer: 503 },
  407: { credentials: 'dan:pa55word' },
  'only Kerberos': { credentials: 'dan:pa55word', schemes: 'Negotiate, NTLM' },
};

/** What is there | its address, with PORT | exit code | what is said | what to do. */
const wrong = cases`
  407 | http://127.0.0.1:PORT | 2 | it asks for a user and password \(407\) | Set HTTP_PROXY to http:\/\/user:password@host:port
  407 | http://dan:wr0ng@127.0.0.1:PORT | 2 | it refuses the user and password \(407\) | Check the user and password in HTTP_PROXY
  401 | http://dan:wr0ng@127.0.0.1:PORT | 2 | it refuses the user and password \(401\) | Check the user and password in HTTP_PROXY
  only Kerberos | http://dan:wr0ng@127.0.0.1:PORT | 2 | it refuses the user and password \(407\) | Run a local proxy that signs in
  403 | http://dan:wr0ng@127.0.0.1:PORT | 2 | it refuses to connect to api\.example\.invalid:80 \(403\) | NO_PROXY
  502 | http://dan:wr0ng@127.0.0.1:PORT | 1 | it cannot connect to api\.example\.invalid:80 \(502\) \(given up | cannot reach
  503 | http://127.0.0.1:PORT | 1 | it cannot connect to api\.example\.invalid:80 \(503\) \(given up | cannot reach
  down | http://dan:wr0ng@127.0.0.1:PORT | 1 | it does not answer \(ECONNREFUSED\) \(given up after 4 tries
      | Check that the proxy runs
  unknown | http://dan:wr0ng@nowhere.invalid:3128 | 2 | there is no host nowhere\.invalid \(ENOTFOUND\) | the name servers of this machine do not know it\.$
  hangs up | http://127.0.0.1:PORT | 2 | closes the connection | check the port
  mail | http://127.0.0.1:PORT | 2 | does not speak HTTP | check the port
  TLS | http://127.0.0.1:PORT | 2 | closes the connection|does not speak HTTP | use https:\/\/127
  403 | https://127.0.0.1:PORT | 2 | does not speak TLS | use http:\/\/127
  TLS | https://127.0.0.1:PORT | 2 | does not trust its certificate | NODE_EXTRA_CA_CERTS
`;

async function standing(name: string) {
  if (name === 'down') return { port: await freePort(), async [Symbol.asyncDispose]() {} };
  if (name === 'hangs up') return hangsUp();
  if (name === 'mail') return mailServer();
  if (name === 'TLS') return aProxy({ tls: own });
  const { answer, ...wish } = wishes[name] ?? {};
  return Object.assign(await aProxy(wish), { answer });
}

it.each(wrong)('%s at %s: ends with %s, and names the proxy', async (name, address, code, what, hint) => {
  await using other = await standing(name!);
  const proxy = address!.replace('PORT', String(other.port));
  const { client, permits } = clientOf(proxy);
  await using _ = client;
  const error = await ask(client).catch((error: unknown) => error);
  const said = withoutMarks(explain(error, true));
  const [first, second] = said.split('\n');
  const shown = proxy.replace('dan:wr0ng@', '');
  expect(first).toContain(`gmsi: No connection through the proxy ${shown} (HTTP_PROXY): `);
  expect(first).toMatch(new RegExp(what!));
  expect(second).toMatch(new RegExp(hint!));
  expect(exitCodeOf(error)).toBe(Number(code));
  expect(said).not.toMatch(/wr0ng|pa55word|ZGFu|GMSI_BASE_URL/);
  // Nothing was sent, so nothing is spent.
  expect([client.requests, permits.booked]).toEqual([0, 0]);
});

describe('an address that has answered before', () => {
  it.each([
    [403, 'retryable'],
    [407, 'fatal'],
  ])('is tried again after %s, if that can help', async (answer, kind) => {
    await using proxy = await aProxy();
    proxy.answer = answer;
    const { client } = clientOf(proxy.url, undefined, { answered: new Set([`http://${host}/v1`]) });
    await using _ = client;
    await expect(ask(client)).rejects.toMatchObject({ kind });
    expect(proxy.asked.length).toBe(kind === 'fatal' ? 1 : 6);
  });
});

it('a certificate of the service that is not trusted, names the proxy, which may show its own', async () => {
  await using service = await webServer((_, response) => response.end('[]'), own);
  await using proxy = await aProxy({ hosts: { [`${host}:443`]: service.port } });
  const { client } = clientOf(proxy.url, `https://${host}`);
  await using _ = client;
  const said = withoutMarks(explain(await ask(client).catch((error: unknown) => error), false));
  expect(said).toContain('does not trust its certificate');
  expect(said).toContain(
    `Connections go through the proxy ${proxy.url} (HTTPS_PROXY), which may read TLS and show a certificate of its own`,
  );
});
