import { relay } from './other-servers.ts';

/**
 * A proxy before a PostgreSQL server that can lose a reply: the server has done its work, but the client does not learn of
 * it.
 */
export interface CuttingProxy extends AsyncDisposable {
  /** The given address of a database, by way of the proxy. */
  readonly url: string;
  /** Loses the reply to the `nth` statement (1: the next one) in which `pattern` is found, and cuts the connection. */
  loseReplyTo(pattern: RegExp, nth?: number): void;
  readonly lost: number;
}

export async function aCuttingProxy(url: string): Promise<CuttingProxy> {
  let armed: { pattern: RegExp; left: number } | undefined;
  /** Prepared statements with the NUL at their end, by their names: sent again, they are nothing but their name. */
  const prepared = new Map<string, string>();
  let lost = 0;

  function isSought(message: string, pattern: RegExp): boolean {
    const names = message.match(/gmsi_\d+/g) ?? [];
    return pattern.test(message) || names.some((name) => pattern.test(prepared.get(name) ?? ''));
  }

  const server = await relay(url, (client, upstream) => {
    let isDoomed = false;
    client.on('data', (chunk) => {
      const message = chunk.toString('latin1');
      for (const [, name, text] of message.matchAll(/(gmsi_\d+)\0([^\0]+\0)/g)) prepared.set(name!, text!);
      if (armed && isSought(message, armed.pattern) && --armed.left === 0) {
        armed = undefined;
        isDoomed = true;
      }
      upstream.write(chunk);
    });
    upstream.on('data', (chunk) => {
      if (!isDoomed) return client.write(chunk);
      lost++;
      client.destroy();
      return false;
    });
  });
  const through = new URL(url);
  through.hostname = '127.0.0.1';
  through.port = String(server.port);

  return {
    url: through.href,
    loseReplyTo(pattern, nth = 1) {
      armed = { pattern, left: nth };
    },
    get lost() {
      return lost;
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}
