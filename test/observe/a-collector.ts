import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A span as it arrives by OTLP. */
export interface CollectedSpan {
  readonly name: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly attributes: Readonly<Record<string, unknown>>;
  /** What it failed with; `undefined` if it did not. */
  readonly error: string | undefined;
}

/** A collector of traces. */
export interface Collector extends AsyncDisposable {
  readonly url: string;
  readonly spans: readonly CollectedSpan[];
  /** Everything that it was sent, headers included. */
  readonly text: string;
}

interface Attribute {
  readonly key: string;
  readonly value: Readonly<Record<string, unknown>>;
}

export async function aCollector(): Promise<Collector> {
  const spans: CollectedSpan[] = [];
  let text = '';
  const server = createServer(async (request, response) => {
    const body: Buffer[] = [];
    for await (const chunk of request) body.push(chunk);
    const json = Buffer.concat(body).toString();
    text += `${request.url} ${JSON.stringify(request.headers)} ${json}\n`;
    for (const { scopeSpans } of JSON.parse(json).resourceSpans)
      for (const scope of scopeSpans) for (const span of scope.spans) spans.push(read(span));
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    get text() {
      return text;
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
}

function read(span: {
  name: string;
  spanId: string;
  parentSpanId?: string;
  attributes: Attribute[];
  status: { code?: number; message?: string };
}): CollectedSpan {
  const { name, spanId, parentSpanId, attributes, status } = span;
  const values = attributes.map(({ key, value }) => [key, Object.values(value)[0]]);
  return {
    ...{ name, spanId, attributes: Object.fromEntries(values) },
    ...(parentSpanId && { parentSpanId }),
    error: status.code === 2 ? (status.message ?? '') : undefined,
  };
}
