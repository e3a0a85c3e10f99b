import type { ClientRequestArgs, Agent as HttpAgent } from 'node:http';
import type { Socket } from 'node:net';
import { buildConnector, Client, errors } from 'undici';
import { type HttpProxy, type ProxyFor, proxyName } from '../config/proxies.ts';
import { connectFault } from './address.ts';
import { type AddressFault, NotSent, noConnectionThrough, ProxyRefused } from './errors.ts';

/**
 * Returns what connects for a client of undici through a proxy. TLS is spoken with the host at the end of the tunnel, so the
 * proxy cannot read what is sent.
 * @param timeout milliseconds until the connection, with TLS, must stand
 */
export function connectThrough(proxy: HttpProxy, timeout: number): buildConnector.connector {
  return (options, callback) => {
    const { protocol, hostname, port } = options;
    const end = performance.now() + timeout;
    openTunnel(proxy, { protocol, hostname, port }, timeout).then(
      (httpSocket) => {
        if (protocol !== 'https:') return callback(null, httpSocket);
        const left = Math.max(1, end - performance.now());
        buildConnector({ timeout: left })({ ...options, httpSocket }, callback);
      },
      (error: Error) => callback(error, null),
    );
  };
}

/**
 * Makes an agent of `node:http` or `node:https` connect through the proxy of each address.
 * @param timeout milliseconds until the proxy must have connected
 */
export function throughProxies<T extends HttpAgent>(
  agent: T,
  protocol: 'http:' | 'https:',
  proxyFor: ProxyFor,
  timeout: number,
): T {
  const connect = agent.createConnection.bind(agent);
  agent.createConnection = (options: ClientRequestArgs, callback) => {
    const to = { protocol, hostname: options.host!, port: String(options.port ?? '') };
    const proxy = proxyFor(`${protocol}//${authorityOf(to)}`);
    if (!proxy) return connect(options, callback);
    const open = async () => {
      const socket = await openTunnel(proxy, to, timeout);
      return protocol === 'https:' ? connect({ ...options, socket } as ClientRequestArgs) : socket;
    };
    open().then(
      (socket) => callback!(null, socket!),
      (error: Error) => callback!(error, null!),
    );
    return undefined;
  };
  return agent;
}

interface Target {
  readonly protocol: string;
  /** An IPv6 address has no brackets. */
  readonly hostname: string;
  /** Empty for the usual one. */
  readonly port: string;
}

function authorityOf({ protocol, hostname, port }: Target): string {
  const usual = protocol === 'https:' ? '443' : '80';
  return `${hostname.includes(':') ? `[${hostname}]` : hostname}:${port || usual}`;
}

/** @throws ProxyRefused if the proxy wants another user or password; NotSent if there is no connection for another reason */
async function openTunnel(proxy: HttpProxy, target: Target, timeout: number): Promise<Socket> {
  const to = authorityOf(target);
  const connect = buildConnector({ timeout });
  const client = new Client(proxy.origin, {
    // Without this, a proxy with a certificate would have to show that of the target, which the header `host` names.
    connect: (options, callback) => connect({ ...options, servername: '' }, callback),
  });
  // The connector's own limit ends with the connection to the proxy; this one includes its answer.
  const slow = new AbortController();
  const timer = setTimeout(() => slow.abort(new errors.ConnectTimeoutError()), timeout);
  try {
    const { socket, statusCode, headers } = await client.connect({
      path: to,
      headers: {
        host: to,
        ...(proxy.authorization && { 'proxy-authorization': proxy.authorization.reveal() }),
      },
      signal: slow.signal,
    });
    if (statusCode >= 200 && statusCode < 300) return socket as Socket;
    socket.on('error', () => {}).destroy();
    throw refusal(proxy, to, statusCode, String(headers['proxy-authenticate'] ?? ''));
  } catch (error) {
    if (error instanceof NotSent || error instanceof ProxyRefused) throw error;
    throw unreached(proxy, error, timeout);
  } finally {
    clearTimeout(timer);
    void client.destroy();
  }
}

function refusal(proxy: HttpProxy, to: string, status: number, schemes: string): NotSent | ProxyRefused {
  // Some answer 401 to a wrong password, though a proxy should not (RFC 9110, 15.5.8).
  if (status === 407 || status === 401) {
    const what = `it ${proxy.authorization ? 'refuses the' : 'asks for a'} user and password (${status})`;
    return new ProxyRefused(said(proxy, what), { hint: wayIn(proxy, schemes) });
  }
  if (status >= 500) {
    const hint = `The proxy answers ${status} while it cannot reach ${to}. If it never can, ask those who run it.`;
    return new NotSent(said(proxy, `it cannot connect to ${to} (${status})`), { hint });
  }
  const what = `it refuses to connect to ${to} (${status})`;
  const hint = `Ask those who run the proxy to allow it, or name the host in NO_PROXY if it can be reached directly.`;
  return notSent(proxy, { what, hint }, undefined);
}

/** What to do after a 407. */
function wayIn({ setting, authorization }: HttpProxy, schemes: string): string {
  if (schemes !== '' && !/\bbasic\b/i.test(schemes))
    return `The proxy takes no user and password (Basic). Run a local proxy that signs in for you, such as Px or cntlm, and set ${setting} to its address.`;
  return authorization
    ? `Check the user and password in ${setting}. Write special characters as %40.`
    : `Set ${setting} to http://user:password@host:port. Write special characters in the password as %40.`;
}

function unreached(proxy: HttpProxy, error: unknown, timeout: number): NotSent {
  const fault = connectFault(error, proxy.origin);
  // A parser error contains what was received, and the proxy could have echoed the credentials.
  const cause = error instanceof errors.HTTPParserError ? undefined : error;
  if (fault) return notSent(proxy, fault, cause);
  const { code, name } = error as NodeJS.ErrnoException;
  const why =
    error instanceof errors.ConnectTimeoutError
      ? `it does not answer within ${timeout} ms`
      : `it does not answer (${code ?? name})`;
  const hint = `Check that the proxy runs, and ${proxy.setting}.`;
  return new NotSent(said(proxy, why), { hint, cause });
}

function notSent(proxy: HttpProxy, fault: AddressFault, cause: unknown): NotSent {
  const { what, hint } = fault;
  return new NotSent(said(proxy, what), {
    hint,
    cause,
    addressFault: { what, hint, proxy: proxyName(proxy) },
  });
}

function said(proxy: HttpProxy, what: string): string {
  return `${noConnectionThrough(proxyName(proxy))}: ${what}.`;
}
