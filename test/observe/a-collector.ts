import { webServer } from '../support/other-servers.ts';

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
  const server = await webServer(async (request, response) => {
    const body: Buffer[] = [];
    for await (const chunk of request) body.push(chunk);
    const json = Buffer.concat(body).toString();
    text += `${request.url} ${JSON.stringify(request.headers)} ${json}\n`;
    for (const { scopeSpans } of JSON.parse(json).resourceSpans)
      for (const scope of scopeSpans) for (const span of scope.spans) spans.push(read(span));
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
  });
  return {
    url: server.url,
    spans,
    get text() {
      return text;
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
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
    name,
    spanId,
    attributes: Object.fromEntries(values),
    ...(parentSpanId && { parentSpanId }),
    error: status.code === 2 ? (status.message ?? '') : undefined,
  };
}
