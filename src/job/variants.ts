import { createHash } from 'node:crypto';
import type { Feed } from '../feeds/feed.ts';
import type { JobFile } from './schema.ts';

/**
 * Every combination of the further parameters that a job asks for, the feed's own where it names none, each as
 * `name=value&name=value` in the order of the names. Another body is another question, so its hash is one of them.
 */
export function variantsOf(feed: Feed, { parameters, body }: Pick<JobFile, 'parameters' | 'body'>): string[] {
  const asked: Record<string, readonly string[]> = { ...feed.variants, ...parameters };
  if (body !== undefined) asked.body = [hashOf(body)];
  let variants: [string, string][][] = [[]];
  for (const name of Object.keys(asked).sort()) {
    variants = variants.flatMap((variant) =>
      [...new Set(asked[name])].map((value): [string, string][] => [...variant, [name, value]]),
    );
  }
  return variants.map((variant) => new URLSearchParams(variant).toString());
}

/**
 * For a person: `several` are the parameters of which more than one value is asked for, as `2 of sentiment_type`;
 * `single` are the others, as `event_type=Combined`.
 */
export function describeVariants(variants: readonly string[]): { several: string[]; single: string[] } {
  const asked = new Map<string, Set<string>>();
  for (const [name, value] of variants.flatMap((variant) => [...new URLSearchParams(variant)])) {
    asked.set(name, (asked.get(name) ?? new Set()).add(value));
  }
  const entries = [...asked];
  return {
    several: entries.filter(([, values]) => values.size > 1).map(([name, { size }]) => `${size} of ${name}`),
    single: entries.filter(([, values]) => values.size === 1).map(([name, [value]]) => `${name}=${value}`),
  };
}

/** The same for bodies that differ only in the order of their keys. */
function hashOf(body: unknown): string {
  const sorted = JSON.stringify(body, (_, value) =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
      : value,
  );
  return createHash('sha256').update(sorted).digest('hex').slice(0, 12);
}
