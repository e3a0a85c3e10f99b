import { createServer, connect as dial, type Socket } from 'node:net';

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
  const target = new URL(url);
  let armed: { pattern: RegExp; left: number } | undefined;
  /** Prepared statements with the NUL at their end, by their names: sent again, they are nothing but their name. */
  const prepared = new Map<string, string>();
  let lost = 0;
  const open = new Set<Socket>();

  function isSought(message: string, pattern: RegExp): boolean {
    const names = message.match(/gmsi_\d+/g) ?? [];
    return pattern.test(message) || names.some((name) => pattern.test(prepared.get(name) ?? ''));
  }

  const server = createServer((client) => {
    const upstream = dial(Number(target.port || 5432), target.hostname);
    let isDoomed = false;
    const cut = () => {
      client.destroy();
      upstream.destroy();
    };
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
      cut();
    });
    for (const socket of [client, upstream]) {
      open.add(socket);
      socket.on('error', cut);
      socket.on('close', () => {
        open.delete(socket);
        cut();
      });
    }
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const { port } = server.address() as { port: number };
  const through = new URL(url);
  through.hostname = '127.0.0.1';
  through.port = String(port);

  return {
    url: through.href,
    loseReplyTo(pattern, nth = 1) {
      armed = { pattern, left: nth };
    },
    get lost() {
      return lost;
    },
    async [Symbol.asyncDispose]() {
      for (const socket of open) socket.destroy();
      await new Promise((closed) => server.close(closed));
    },
  };
}
