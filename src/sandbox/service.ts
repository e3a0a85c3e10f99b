import type { FastifyRequest } from 'fastify';
import type { FaultPlan } from './faults/fault-plan.ts';
import type { Counts } from './gate/counts.ts';
import type { Limiter } from './gate/limiter.ts';
import type { SandboxSettings } from './options.ts';
import type { Cursors } from './paging/cursor.ts';
import type { PageCache } from './paging/page-cache.ts';

/** What the parts of one running sandbox share. */
export interface Service {
  readonly settings: SandboxSettings;
  readonly limiter: Limiter;
  readonly cursors: Cursors;
  readonly cache: PageCache;
  readonly faults: FaultPlan;
  readonly counts: Counts;
  /** Aborted when the sandbox stops. */
  readonly stopping: AbortSignal;
}

/** Query parameters, decoded. */
export type Query = Readonly<Record<string, string>>;

/** The query of a request; of a parameter that is given twice, the last one counts, as in FastAPI. */
export function queryOf(request: FastifyRequest): Query {
  const query = request.query as Record<string, string | string[]>;
  return Object.fromEntries(
    Object.entries(query).map(([name, value]) => [name, typeof value === 'string' ? value : value.at(-1)!]),
  );
}
