import type { z } from 'zod';
import type { Feed } from '../feeds/feed.ts';
import { by } from './describe-feed.ts';
import { isMap } from './field-types.ts';
import type { JobFile } from './job-keys.ts';

/** The key by which a job selects along each dimension of its feed. */
export const selectionKeys = { country: 'countries', topic: 'topics', ticker: 'tickers' } as const;

const dimensions = ['country', 'topic', 'ticker'] as const;

/**
 * Checks the keys that depend on the feed: selections, match type, parameters, body and fields. Runs even if the file has other
 * problems, so a key may still have any type.
 */
export function checkAgainstFeed(file: JobFile, feed: Feed, context: z.RefinementCtx): void {
  checkSelections(file, feed, context);
  checkMatchType(file, feed, context);
  checkParameters(file, feed, context);
  checkBody(file, feed, context);
  checkFields(file, feed, context);
}

function checkSelections(file: JobFile, feed: Feed, context: z.RefinementCtx): void {
  for (const dimension of dimensions) {
    const key = selectionKeys[dimension];
    const isGiven = file[key] !== undefined;
    if (isGiven === feed.dimensions.includes(dimension)) continue;
    const message = `${isGiven ? 'nothing here' : 'all, or a list'}: feed ${feed.name} is ${by(feed)}`;
    context.addIssue({ code: 'custom', path: [key], message });
  }
}

function checkMatchType({ match_type, service }: JobFile, feed: Feed, context: z.RefinementCtx): void {
  if (typeof match_type !== 'string') return;
  const added = Array.isArray(service?.match_types) ? service.match_types : [];
  const candidates = feed.matchTypes.length === 0 ? [] : [...feed.matchTypes, ...added];
  if (candidates.includes(match_type)) return;
  const message =
    candidates.length === 0
      ? `nothing here: feed ${feed.name} has no match type`
      : `one of ${candidates.join(', ')} (service.match_types adds others)`;
  context.addIssue({ code: 'custom', path: ['match_type'], message, params: { candidates } });
}

function checkParameters({ parameters, service }: JobFile, feed: Feed, context: z.RefinementCtx): void {
  if (!isMap(parameters)) return;
  for (const name of Object.keys(parameters)) {
    const message = refusalOfParameter(name, feed, service);
    if (message !== undefined) context.addIssue({ code: 'custom', path: ['parameters', name], message });
  }
}

/** Refuses parameters that the program sends itself, and parameters whose values no column distinguishes. */
function refusalOfParameter(name: string, feed: Feed, service: JobFile['service']): string | undefined {
  if (isSentAnyway(name, feed, service)) return sentAnyway(name);
  if (feed.method === 'POST') return `no ${name} here: feed ${feed.name} takes it in its body`;
  if (feed.table.series.includes('variant')) return undefined;
  return `no ${name} here: rows of gmsi.${feed.table.name} have no column for it`;
}

function checkBody({ body, service }: JobFile, feed: Feed, context: z.RefinementCtx): void {
  if ((feed.method === 'POST') !== (body !== undefined)) {
    const message =
      body === undefined
        ? `the body that feed ${feed.name} sends, a map`
        : `nothing here: feed ${feed.name} sends no body`;
    context.addIssue({ code: 'custom', path: ['body'], message });
  } else if (isMap(body)) {
    for (const name of Object.keys(body).filter((key) => isSentAnyway(key, feed, service))) {
      context.addIssue({ code: 'custom', path: ['body', name], message: sentAnyway(name) });
    }
  }
}

function isSentAnyway(name: string, feed: Feed, service: JobFile['service']): boolean {
  return Object.values<string>({ ...feed.parameters, ...service?.parameters }).includes(name);
}

function sentAnyway(name: string): string {
  return `no ${name} here: the job's other keys already set it`;
}

/** Refuses unknown columns: without this, a mistyped column would have no effect and no message. */
function checkFields({ fields }: JobFile, feed: Feed, context: z.RefinementCtx): void {
  if (!isMap(fields)) return;
  const knownKeys = Object.keys(feed.fields);
  for (const column of Object.keys(fields)) {
    if (knownKeys.includes(column)) continue;
    context.addIssue({ code: 'custom', path: ['fields', column], params: { knownKeys } });
  }
}
