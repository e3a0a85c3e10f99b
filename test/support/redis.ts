import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, connect as dial, type Socket } from 'node:net';
import { Secret } from '../../src/secret.ts';

/** A Redis of a test's own, which can go and come back at the same address, empty. */
export interface TestRedis extends AsyncDisposable {
  readonly url: Secret;
  start(): Promise<void>;
  stop(): Promise<void>;
  /** Stands still: connections stay open and nothing is answered. */
  freeze(): void;
  thaw(): void;
  /** Forgets everything, and stays. */
  forget(): void;
}

/** Whether there is a redis-server; tests that need one are skipped where there is none, and say so. */
export const hasRedis = isInstalled();

export async function aRedis({ password }: { password?: string } = {}): Promise<TestRedis> {
  const port = await freePort();
  const asked = ['--port', `${port}`, '--save', '', '--appendonly', 'no', '--dir', '/tmp'];
  let server: ChildProcess | undefined;

  async function start(): Promise<void> {
    const args = [...asked, ...(password ? ['--requirepass', password] : [])];
    const started = spawn('redis-server', args, { stdio: ['ignore', 'pipe', 'inherit'] });
    server = started;
    await new Promise<void>((resolve, reject) => {
      started.once('exit', () => reject(new Error('redis-server ended at once')));
      started.stdout.on('data', (lines) => String(lines).includes('Ready to accept') && resolve());
    });
  }

  async function stop(): Promise<void> {
    if (!server) return;
    const gone = once(server, 'exit');
    server.kill('SIGKILL');
    server = undefined;
    await gone;
  }

  await start();
  return {
    url: new Secret(`redis://${password ? `:${password}@` : ''}127.0.0.1:${port}`),
    start,
    stop,
    freeze: () => void server?.kill('SIGSTOP'),
    thaw: () => void server?.kill('SIGCONT'),
    forget: () => void execFileSync('redis-cli', ['-p', `${port}`, 'flushall']),
    [Symbol.asyncDispose]: stop,
  };
}

/** A way to a Redis that can be cut for good. */
export async function aWayTo(target: Secret) {
  const open = new Set<Socket>();
  const { port } = new URL(target.reveal());
  const server = createServer((near) => {
    const far = dial(Number(port), '127.0.0.1');
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      open.add(one);
      one.on('error', () => other.destroy());
      one.on('close', () => other.destroy());
      one.pipe(other);
    }
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const cut = () => {
    server.close();
    for (const socket of open) socket.destroy();
  };
  return {
    url: new Secret(`redis://127.0.0.1:${(server.address() as { port: number }).port}`),
    cut,
    [Symbol.asyncDispose]: async () => cut(),
  };
}

function isInstalled(): boolean {
  try {
    execFileSync('redis-server', ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  return port;
}
