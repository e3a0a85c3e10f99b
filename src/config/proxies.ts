import { BlockList, isIP } from 'node:net';
import { ConfigError } from '../errors.ts';
import { Secret } from '../secret.ts';

/** A server that opens connections for others when it is asked to (CONNECT; RFC 9110, 9.3.6). */
export interface HttpProxy {
  /** The variable that names it. */
  readonly setting: string;
  /** `http://` or `https://`, host and port, without credentials. */
  readonly origin: string;
  /** The header `proxy-authorization`; `undefined` if the address has no credentials. */
  readonly authorization: Secret | undefined;
}

/** Returns the proxy on the way to an address; `undefined` if connections to it are direct. */
export type ProxyFor = (address: string) => HttpProxy | undefined;

type Variables = Readonly<
  Record<'HTTPS_PROXY' | 'HTTP_PROXY' | 'ALL_PROXY' | 'NO_PROXY', string | undefined>
>;

/**
 * Returns `undefined` if no proxy is set.
 * @throws ConfigError if a variable in use is not the address of a proxy; never shows the address, which may have a password
 */
export function readProxies(variables: Variables): ProxyFor | undefined {
  const excepted = (variables.NO_PROXY ?? '').split(/[\s,]+/).filter(Boolean);
  if (excepted.includes('*')) return undefined;
  const https = readProxy(variables, 'HTTPS_PROXY') ?? readProxy(variables, 'ALL_PROXY');
  const http = readProxy(variables, 'HTTP_PROXY') ?? readProxy(variables, 'ALL_PROXY');
  if (!https && !http) return undefined;
  if (!excepted.every(isUnderstood))
    throw new ConfigError('NO_PROXY has an entry that is not a host, an IP address or a range.', {
      hint: 'It looks like example.com,10.0.0.0/8,192.0.2.1:8080; without https://.',
    });
  return (address) => {
    const url = new URL(address);
    const proxy = url.protocol === 'https:' ? https : http;
    return proxy && !excepted.some((entry) => isNamedBy(entry, url)) ? proxy : undefined;
  };
}

/** Says which proxy it is and who names it, for a person. */
export function proxyName({ origin, setting }: HttpProxy): string {
  return `${origin} (${setting})`;
}

function readProxy(variables: Variables, setting: keyof Variables): HttpProxy | undefined {
  const text = variables[setting]?.trim();
  if (text === undefined) return undefined;
  const address = text.includes('://') ? text : `http://${text}`;
  const url = URL.canParse(address) ? new URL(address) : undefined;
  const credentials = url && decoded([url.username, url.password]);
  // A path, query or fragment is the rest of a password with a / ? or # that is not encoded.
  const isBare = url && `${url.pathname}${url.search}${url.hash}` === '/';
  if (!isBare || !/^https?:$/.test(url.protocol) || !credentials)
    throw new ConfigError(`${setting} is not the address of an HTTP proxy.`, {
      hint:
        'It looks like http://user:password@proxy.example.com:3128, or https://…. Write special characters in the password ' +
        'as %40. SOCKS is not supported; NO_PROXY=* turns proxies off.',
    });
  const isOpen = credentials.every((part) => part === '');
  const basic = Buffer.from(credentials.join(':')).toString('base64');
  return { setting, origin: url.origin, authorization: isOpen ? undefined : new Secret(`Basic ${basic}`) };
}

function decoded(parts: readonly string[]): string[] | undefined {
  try {
    return parts.map(decodeURIComponent);
  } catch {
    return undefined;
  }
}

/** Returns false for an address such as https://host and for a range that is none: both would except nothing. */
function isUnderstood(entry: string): boolean {
  if (!entry.includes('/')) return true;
  const [, first = '', bits] = /^\[?([^\]/]*)\]?\/(\d+)(?::\d+)?$/.exec(entry) ?? [];
  const longest = { 4: 32, 6: 128 }[isIP(first)];
  return longest !== undefined && Number(bits) <= longest;
}

/**
 * Returns true if an entry of NO_PROXY names the host of an address: the host or a domain above it, an IP address or a range
 * of them, with or without a port.
 */
function isNamedBy(entry: string, { hostname, port, protocol }: URL): boolean {
  const [, name = entry, ofPort] = /^(\[.*\]|[^:]*):(\d+)$/.exec(entry) ?? [];
  if (ofPort !== undefined && ofPort !== (port || (protocol === 'https:' ? '443' : '80'))) return false;
  const host = bare(hostname);
  const named = bare(name.toLowerCase());
  const family = isIP(host);
  if (family === 0) {
    const domain = named.replace(/^\*?\./, '');
    return domain !== '' && `.${host}`.endsWith(`.${domain}`);
  }
  const [first = '', bits = family === 4 ? '32' : '128'] = named.split('/');
  if (isIP(first) !== family) return false;
  const range = new BlockList();
  range.addSubnet(first, Number(bits), family === 4 ? 'ipv4' : 'ipv6');
  return range.check(host, family === 4 ? 'ipv4' : 'ipv6');
}

/** Returns a host without the brackets of an IPv6 address and without the dot at the end of a name. */
function bare(host: string): string {
  return host.replace(/^\[|\]$|\.$/g, '');
}
