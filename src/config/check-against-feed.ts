import type { z } from 'zod';
import { by, type Feed } from '../feeds/feed.ts';
import { isMap } from './field-types.ts';
import type { JobFile } from './job-keys.ts';

/** The key by which a job selects along each dimension of its feed. */
export const selectionKeys = { country: 'countries', topic: 'topics', ticker: 'tickers' } as const;

/**
 * Checks the keys that depend on the feed: selections, match type, parameters, body and fields. Runs even if the file has other
 * problems, so a key may still have any type.
 */
export function checkAgainstFeed(file: JobFile, feed: Feed, context: z.RefinementCtx): void {
  const refuse = (path: string[], message?: string, params?: Record<string, unknown>) =>
    context.addIssue({ code: 'custom', path, message, params });
  const keysOf = (value: unknown) => (isMap(value) ? Object.keys(value) : []);
  const { match_type, parameters, body, fields, service } = file;
  for (const dimension of ['country', 'topic', 'ticker'] as const) {
    const key = selectionKeys[dimension];
    const isGiven = file[key] !== undefined;
    if (isGiven !== feed.dimensions.includes(dimension))
      refuse([key], `${isGiven ? 'nothing here' : 'all, or a list'}: feed ${feed.name} is ${by(feed)}`);
  }

  const added = Array.isArray(service?.match_types) ? service.match_types : [];
  const candidates = feed.matchTypes.length === 0 ? [] : [...feed.matchTypes, ...added];
  if (typeof match_type === 'string' && !candidates.includes(match_type)) {
    const accepted = `one of ${candidates.join(', ')} (service.match_types adds others)`;
    const none = `nothing here: feed ${feed.name} has no match type`;
    refuse(['match_type'], candidates.length === 0 ? none : accepted, { candidates });
  }

  const sent = Object.values<string>({ ...feed.parameters, ...service?.parameters });
  const refuseSent = (key: string, name: string): boolean => {
    if (sent.includes(name)) refuse([key, name], `no ${name} here: the job's other keys already set it`);
    return sent.includes(name);
  };
  for (const name of keysOf(parameters)) {
    if (refuseSent('parameters', name)) continue;
    if (feed.method === 'POST')
      refuse(['parameters', name], `no ${name} here: feed ${feed.name} takes it in its body`);
    else if (!feed.table.series.includes('variant'))
      refuse(['parameters', name], `no ${name} here: rows of gmsi.${feed.table.name} have no column for it`);
  }
  if (feed.method === 'POST' && body === undefined)
    refuse(['body'], `the body that feed ${feed.name} sends, a map`);
  else if (feed.method !== 'POST' && body !== undefined)
    refuse(['body'], `nothing here: feed ${feed.name} sends no body`);
  else for (const name of keysOf(body)) refuseSent('body', name);

  // Without this, a mistyped column would have no effect and no message.
  const knownKeys = Object.keys(feed.fields);
  for (const column of keysOf(fields))
    if (!knownKeys.includes(column)) refuse(['fields', column], undefined, { knownKeys });
}
