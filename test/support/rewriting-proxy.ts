import type { Sandbox } from '#sandbox';
import { webServer } from './other-servers.ts';

/** Stands before a sandbox and rewrites its pages. */
export interface RewritingProxy extends AsyncDisposable {
  readonly url: string;
  /** What becomes of a page's body; may be replaced at any time. */
  rewrite: (page: { data: readonly Record<string, unknown>[] }) => unknown;
}

export async function aRewritingProxy(
  sandbox: Sandbox,
  rewrite: RewritingProxy['rewrite'],
): Promise<RewritingProxy> {
  const server = await webServer(async (request, response) => {
    const { url = '', method = 'GET', headers } = request;
    const sent: Buffer[] = [];
    for await (const chunk of request) sent.push(chunk);
    const answer = await fetch(new URL(url, sandbox.url), {
      method,
      headers: { 'x-api-key': String(headers['x-api-key']), 'content-type': 'application/json' },
      ...(method === 'POST' ? { body: Buffer.concat(sent) } : {}),
    });
    const body = await answer.json();
    const isPage = answer.ok && Array.isArray((body as { data?: unknown }).data);
    response.writeHead(answer.status, {
      'content-type': 'application/json',
      server: answer.headers.get('server') ?? '',
    });
    response.end(JSON.stringify(isPage ? proxy.rewrite(body as never) : body));
  });
  const proxy: RewritingProxy = {
    url: server.url,
    rewrite,
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
  return proxy;
}

/** Pages whose records have fields by other names. */
export function renaming(names: Readonly<Record<string, string>>): RewritingProxy['rewrite'] {
  return (page) => ({
    ...page,
    data: page.data.map((record) =>
      Object.fromEntries(Object.entries(record).map(([name, value]) => [names[name] ?? name, value])),
    ),
  });
}
