import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import { webServer } from '../support/other-servers.ts';

export interface RawServer {
  readonly url: string;
  /** Path and query of every request, as they came. */
  readonly targets: string[];
  readonly headers: IncomingMessage['headers'][];
  /** Connections that were ever opened. */
  connections: number;
}

/** A plain HTTP server with a handler for answers, closed when the test ends. */
export async function rawServer(answer: RequestListener): Promise<RawServer> {
  const seen: Omit<RawServer, 'url'> = { targets: [], headers: [], connections: 0 };
  const sockets = new Set<Socket>();
  const server = await webServer((request, response) => {
    sockets.add(request.socket);
    seen.connections = sockets.size;
    seen.targets.push(request.url ?? '');
    seen.headers.push(request.headers);
    answer(request, response);
  });
  onTestFinished(() => server[Symbol.asyncDispose]());
  return Object.assign(seen, { url: server.url });
}

/** Answers the first request with the first of `answers`, and so on; the last one answers all further ones. */
export function inTurn(...answers: RequestListener[]): RequestListener {
  let next = 0;
  return (request, response) => {
    const answer = answers[Math.min(next, answers.length - 1)]!;
    next += 1;
    answer(request, response);
  };
}

export function json(body: unknown, status = 200, headers: Record<string, string> = {}): RequestListener {
  return (_request, response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
  };
}

export function text(body: string, status: number, headers: Record<string, string> = {}): RequestListener {
  return (_request, response) => void response.writeHead(status, headers).end(body);
}

export function reset(_request: IncomingMessage, response: ServerResponse): void {
  response.destroy();
}

/** Announces more than it sends, then breaks the connection off. */
export function cutShort(_request: IncomingMessage, response: ServerResponse): void {
  response.writeHead(200, { 'content-length': '100' });
  response.write('{"data": [', () => response.destroy());
}

export const emptyPage = { data: [], limit: 1000, has_more: false, next_token: null };
