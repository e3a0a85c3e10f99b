import { errors } from 'undici';
import type { HttpProxy } from '../config/proxies.ts';
import type { AddressFault } from './errors.ts';
import type { ServiceRequest } from './page.ts';

/** The service's origin, and the first part of every request's path, which ends with `/v1`. */
export interface ServiceAddress {
  readonly origin: string;
  readonly prefix: string;
}

/**
 * Returns true if others can read requests on the network: plain `http` to another machine, or through a proxy. `URL`
 * normalizes every spelling of an IPv4 address, such as `127.1` or `0x7f000001`.
 */
export function isReadableOnTheWay(baseUrl: string, proxy?: HttpProxy): boolean {
  const { protocol, hostname } = new URL(baseUrl);
  return protocol === 'http:' && (proxy !== undefined || !loopback.test(hostname));
}

const loopback = /^(?:(?:.+\.)?localhost\.?|127(?:\.\d+){3}|\[::1\]|\[::ffff:7f[\da-f]{2}:[\da-f]{1,4}\])$/;

/** @param baseUrl with or without `/v1`, with or without a trailing slash; may have a path before `/v1` */
export function serviceAddress(baseUrl: string): ServiceAddress {
  const { origin, pathname } = new URL(baseUrl);
  return { origin, prefix: `${pathname.replace(/\/+$/, '').replace(/(\/v1)+$/i, '')}/v1` };
}

/**
 * Returns the path and query to send. Spaces become `%20`, never `+`, and `+ / = &` are encoded: a server that reads `+` as a
 * space would otherwise get another token or topic.
 */
export function requestTarget(address: ServiceAddress, request: ServiceRequest): string {
  const query = Object.entries(request.query).map(([name, value]) => `${encode(name)}=${encode(value)}`);
  const prefix = request.isUnversioned ? address.prefix.replace(/\/v1$/, '') : address.prefix;
  const path = `${prefix}/${request.path.replace(/^\/+/, '')}`;
  return query.length === 0 ? path : `${path}?${query.join('&')}`;
}

/** Tokens and topics come from the service; a lone surrogate in one must not throw a URIError. */
function encode(text: string): string {
  return encodeURIComponent(text.toWellFormed());
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
