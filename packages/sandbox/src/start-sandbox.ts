import type { AddressInfo } from 'node:net';
import fastify, { type FastifyError, type FastifyInstance } from 'fastify';
import { serveDescription } from './description.ts';
import type { ScriptedFault } from './faults/fault.ts';
import { faultPlanOf } from './faults/fault-plan.ts';
import type { FeedName } from './feeds/catalog.ts';
import { FEEDS } from './feeds/catalog.ts';
import { serveLookups } from './feeds/lookups.ts';
import { countsOf, type SandboxStats } from './gate/counts.ts';
import { registerGate } from './gate/gate.ts';
import { limiterOf } from './gate/limiter.ts';
import { type SandboxOptions, settingsFrom } from './options.ts';
import { cursorsOf } from './paging/cursor.ts';
import { serveLiveFeed } from './paging/live-feed.ts';
import { pageCacheOf } from './paging/page-cache.ts';
import { servePagedFeed } from './paging/paged-feed.ts';
import { Refusal } from './refusal.ts';
import type { Service } from './service.ts';
import { type TruthItem, type TruthQuestion, type TruthRecord, truthOf, truthOfFeed } from './truth.ts';

export interface Sandbox extends AsyncDisposable {
  /** `http://<host>:<port>`, without `/v1`; an address of this machine if it listens on all of them. */
  readonly url: string;
  readonly port: number;
  /**
   * Sets the faults of the next requests, and drops the rest of an earlier script. A request gets the first step that
   * matches it, or else a random fault, if there are any.
   */
  script(steps: readonly ScriptedFault[]): void;
  stats(): SandboxStats;
  /** Returns what the service serves now, oldest first, for tests. @throws Refusal for an unknown country or topic */
  truth(question: TruthQuestion): TruthRecord[];
  /**
   * Returns what a feed serves now. `query` has the path's parameters by name (`ticker`) and those of the request. Historical
   * feeds also take `from` and `to`, as `truth` does, and return their records oldest first. Live feeds return everything in
   * their window, newest first, without a limit.
   * @throws Refusal if the service would refuse the request
   */
  truthOf(feed: FeedName, query: Readonly<Record<string, string>>): TruthItem[];
  /** Ends every connection, also hanging ones, and frees the port. */
  stop(): Promise<void>;
}

/** Starts the emulated service, by default on 127.0.0.1. @throws RangeError for unknown options */
export async function startSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  const settings = settingsFrom(options);
  const stopped = new AbortController();
  const service: Service = {
    settings,
    limiter: limiterOf(settings),
    cursors: cursorsOf(settings),
    cache: pageCacheOf(settings.cacheBytes),
    faults: faultPlanOf(settings.faults),
    counts: countsOf(),
    stopping: stopped.signal,
  };
  const app = serverOf(service);
  const url = await app.listen({ host: settings.host, port: settings.port });
  const { port } = app.server.address() as AddressInfo;
  const stop = async () => {
    stopped.abort();
    await app.close();
  };
  return {
    url,
    port,
    script: service.faults.script,
    stats: service.counts.stats,
    truth: (question) => truthOf(settings, question),
    truthOf: (feed, query) => truthOfFeed(settings, feed, query),
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

function serverOf(service: Service): FastifyInstance {
  const app = fastify({ logger: false, forceCloseConnections: true });
  app.setErrorHandler((error: FastifyError | Refusal, _request, reply) => {
    const [status, detail] =
      error instanceof Refusal ? [error.status, error.detail] : [error.statusCode ?? 500, error.message];
    return reply.code(status).send({ detail });
  });
  app.setNotFoundHandler((_request, reply) => reply.code(404).send({ detail: 'Not Found' }));
  // A body that is not JSON passes the gate, and is refused where it is read.
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'string' }, (_request, body, done) => done(null, parseJson(body)));
  registerGate(app, service);
  for (const feed of FEEDS) {
    if (feed.kind === 'paged') servePagedFeed(app, service, feed);
    else serveLiveFeed(app, service, feed);
  }
  serveLookups(app);
  serveDescription(app, service);
  // For other processes, without a key and uncounted.
  app.get('/_sandbox/stats', () => service.counts.stats());
  return app;
}

function parseJson(body: string | Buffer): unknown {
  try {
    return JSON.parse(String(body));
  } catch {
    return undefined;
  }
}
