import type { FastifyRequest } from 'fastify';
import type { FaultPlan } from './faults/fault-plan.ts';
import type { Counts } from './gate/counts.ts';
import type { Limiter } from './gate/limiter.ts';
import type { SandboxSettings } from './options.ts';
import type { Cursors } from './paging/cursor.ts';
import type { PageCache } from './paging/page-cache.ts';

/** Shared by the parts of a running sandbox. */
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

/** Decoded parameters of the query or a JSON body. Members of lists are joined; `listOf` splits them. */
export type Query = Readonly<Record<string, string>>;

/** Parameters that are lists: repeated, or separated by commas. */
const LISTS = /^(tickers|event_types|sources|languages|.*_preset)$/;

/**
 * Returns a request's query and the fields of its JSON body, if any. If a parameter is repeated in a query, the last one
 * counts, as in FastAPI, unless it is a list.
 */
export function queryOf(request: FastifyRequest): Query {
  const query: Record<string, string> = {};
  for (const [name, value] of Object.entries(isObject(request.body) ? request.body : {})) {
    if (value !== null) query[name] = Array.isArray(value) ? value.join() : String(value);
  }
  for (const [name, value] of Object.entries(request.query as Record<string, string | string[]>)) {
    query[name] = typeof value === 'string' ? value : LISTS.test(name) ? value.join() : value.at(-1)!;
  }
  return query;
}

/** Returns the members of a list parameter; none if it is missing. */
export function listOf(value: string | undefined): string[] {
  return value === undefined ? [] : value.split(',').filter((member) => member !== '');
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
