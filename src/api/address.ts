import type { ServiceRequest } from './page.ts';

/** Where the service is: its origin, and the path that every request begins with, `/v1` at its end. */
export interface ServiceAddress {
  readonly origin: string;
  readonly prefix: string;
}

/**
 * Whether what is sent to an address can be read on the way: plain `http` to anything but this machine. `URL` has by then
 * turned every spelling of an IPv4 address, such as `127.1` or `0x7f000001`, into its usual one.
 */
export function isReadableOnTheWay(baseUrl: string): boolean {
  const { protocol, hostname } = new URL(baseUrl);
  return protocol === 'http:' && !loopback.test(hostname);
}

const loopback = /^(?:(?:.+\.)?localhost\.?|127(?:\.\d+){3}|\[::1\]|\[::ffff:7f[\da-f]{2}:[\da-f]{1,4}\])$/;

/** @param baseUrl with or without `/v1`, with or without a trailing slash; may hold a path before `/v1` */
export function serviceAddress(baseUrl: string): ServiceAddress {
  const { origin, pathname } = new URL(baseUrl);
  return { origin, prefix: `${pathname.replace(/\/+$/, '').replace(/(\/v1)+$/i, '')}/v1` };
}

/**
 * The path and query to send. Spaces become `%20`, never `+`, and `+ / = &` are encoded, because a server that reads
 * `+` as a space would otherwise see another token or topic than was meant.
 */
export function requestTarget(address: ServiceAddress, request: ServiceRequest): string {
  const query = Object.entries(request.query).map(([name, value]) => `${encode(name)}=${encode(value)}`);
  const path = `${address.prefix}/${request.path.replace(/^\/+/, '')}`;
  return query.length === 0 ? path : `${path}?${query.join('&')}`;
}

/** A token or a topic is the service's own text; a lone surrogate in it must not throw a URIError. */
function encode(text: string): string {
  return encodeURIComponent(text.toWellFormed());
}
