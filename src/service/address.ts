import type { HttpProxy } from '../config/proxies.ts';
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
