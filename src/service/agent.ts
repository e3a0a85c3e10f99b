import { Agent, buildConnector, type Dispatcher, errors, Pool, ProxyAgent } from 'undici';
import { type HttpProxy, proxyName } from '../config/proxies.ts';
import { type AddressFault, NotSent, noConnectionThrough, ProxyRefused } from './errors.ts';

/**
 * Opens an agent whose connections go through the proxy, if any. TLS is spoken with the host at the end of the tunnel, so the
 * proxy cannot read what is sent. Requests throw ProxyRefused if the proxy wants another user or password, NotSent if it does
 * not connect for another reason.
 * @param options with `connectTimeout`: the longest wait, in milliseconds, for a connection, for the proxy's answer, and for TLS
 */
export function openAgent(
  proxy: HttpProxy | undefined,
  options: Agent.Options & { readonly connectTimeout: number },
): Dispatcher {
  if (!proxy) return new Agent(options);
  const timeout = options.connectTimeout;
  return new ProxyAgent({
    ...options,
    uri: proxy.origin,
    ...(proxy.authorization && { token: proxy.authorization.reveal() }),
    requestTls: { timeout },
    clientFactory(origin) {
      const reach = buildConnector({ timeout });
      const pool = new Pool(origin, {
        headersTimeout: timeout,
        // ProxyAgent names the proxy even if that is an IP address, which TLS does not allow, and Node.js warns of.
        connect: (to, callback) => reach({ ...to, servername: '' }, callback),
      });
      return Object.assign(pool, { connect: tunnelThrough(proxy, pool, timeout) });
    },
  });
}

/** Opens tunnels as the pool does, and says in an error of its own why there is none: undici's would only have the status. */
function tunnelThrough(proxy: HttpProxy, pool: Pool, timeout: number) {
  const connect = pool.connect.bind(pool);
  return async (options: Dispatcher.ConnectOptions): Promise<Dispatcher.ConnectData> => {
    const answer = await connect(options).catch((error: unknown) => {
      throw unreached(proxy, error, timeout);
    });
    if (answer.statusCode === 200) return answer;
    answer.socket.on('error', () => {}).destroy();
    const { 'proxy-authenticate': schemes = '' } = answer.headers;
    throw refusal(proxy, options.path, answer.statusCode, String(schemes));
  };
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
  const isLate = error instanceof errors.ConnectTimeoutError || error instanceof errors.HeadersTimeoutError;
  const why = isLate ? `it does not answer within ${timeout} ms` : `it does not answer (${code ?? name})`;
  return new NotSent(said(proxy, why), {
    hint: `Check that the proxy runs, and ${proxy.setting}.`,
    cause: isLate ? new errors.ConnectTimeoutError() : cause,
  });
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

/** Codes of OpenSSL and Node for a certificate that they do not accept. */
export const certificateCodes =
  /^(CERT_|CRL_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|INVALID_CA|INVALID_PURPOSE|PATH_LENGTH_EXCEEDED|ERR_TLS_CERT_)/;

/**
 * Returns what is wrong with the address, judging by a connection error; `undefined` for temporary errors: a name server that
 * does not answer (EAI_AGAIN), a refused port, an unreachable network, a time limit.
 */
export function connectFault(error: unknown, origin: string): AddressFault | undefined {
  const { code = '' } = error as NodeJS.ErrnoException;
  const { protocol, hostname, host } = new URL(origin);
  const isTls = protocol === 'https:';
  if (code === 'ENOTFOUND') {
    const hint = 'Check the name of the host: the name servers of this machine do not know it.';
    return { what: `there is no host ${hostname} (${code})`, hint };
  }
  if (certificateCodes.test(code)) return certificateFault(code);
  if (code.startsWith('ERR_SSL_') && code.includes('ALERT')) {
    const hint = 'Check host and port; the server may need another TLS version, or a client certificate.';
    return { what: `it refuses the TLS handshake (${code})`, hint };
  }
  const other = isTls
    ? `If the server does not use TLS there, use http://${host}; else check the port.`
    : `If the server uses TLS there, use https://${host}; else check the port.`;
  if (code.startsWith('ERR_SSL_') || code === 'EPROTO')
    return { what: `the server there does not speak TLS (${code})`, hint: other };
  if (error instanceof errors.HTTPParserError)
    return { what: `the server there does not speak HTTP (${code})`, hint: other };
  if (code === 'UND_ERR_SOCKET' || code === 'ECONNRESET' || code === 'EPIPE')
    return { what: `it closes the connection without an answer (${code})`, hint: other };
  return undefined;
}

function certificateFault(code: string): AddressFault {
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') {
    const hint = 'Use the host name in the certificate, not another name or its IP address.';
    return { what: `its certificate is for another host (${code})`, hint };
  }
  if (code === 'CERT_HAS_EXPIRED' || code === 'CERT_NOT_YET_VALID') {
    const hint = "If this machine's clock is right, whoever runs the server must renew the certificate.";
    return { what: `its certificate is not valid at this time (${code})`, hint };
  }
  const hint =
    'If the address is right and the certificate is your own, set NODE_EXTRA_CA_CERTS to the .pem file of its authority, in the environment (not in .env).';
  return { what: `this machine does not trust its certificate (${code})`, hint };
}
