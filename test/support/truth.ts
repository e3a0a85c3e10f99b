import { sql } from 'kysely';
import type { Sandbox } from '#sandbox';
import type { Warehouse } from '../../src/warehouse/connect.ts';

export interface TruthScope {
  readonly countries: readonly string[];
  readonly topics: readonly string[];
  readonly matchType?: 'COMBINED' | 'DOMESTIC' | 'INTERNATIONAL';
  readonly from: string;
  readonly to: string;
  /** False if records have no id, so that identities are the warehouse's own and not compared. */
  readonly ids?: boolean;
}

/** One headline in a form in which what the sandbox served and what the warehouse holds can be compared exactly. */
export type Held = readonly (string | number | null)[];

const parts = ['positive', 'neutral', 'negative'] as const;

/** What the sandbox would serve now for days of series, in the order of its key. */
export function servedBy(sandbox: Sandbox, scope: TruthScope): Held[] {
  const { matchType = 'COMBINED', from, to } = scope;
  const series = scope.countries.flatMap((country) => scope.topics.map((topic) => ({ country, topic })));
  return sorted(
    series.flatMap(({ country, topic }) =>
      sandbox.truth({ country, topic, matchType, from, to }).map((r) => {
        const at = new Date(r.publishedAt).toISOString();
        const about = [country, topic, at, r.id, r.headline, r.language, r.source, r.url, r.topicProbability];
        return [
          ...about,
          ...[r.directional, r.semantic].flatMap((scores) => parts.map((part) => scores[part])),
        ];
      }),
    ),
  );
}

/** What the warehouse holds for the same days, in the same form. */
export async function heldBy(db: Warehouse, scope: TruthScope): Promise<Held[]> {
  const { rows } = await sql<Record<string, string | number | null> & { published_at: Date }>`
    select * from gmsi.headlines
    where country = any(${[...scope.countries]}::text[]) and topic = any(${[...scope.topics]}::text[])
      and match_type = ${scope.matchType ?? 'COMBINED'} and retracted_at is null
      and (published_at at time zone 'UTC')::date between ${scope.from}::date and ${scope.to}::date
  `.execute(db);
  return sorted(
    rows.map((r) => {
      const id = scope.ids === false ? null : r.headline_id!;
      const about = [r.country!, r.topic!, r.published_at.toISOString(), id];
      const told = ['headline', 'language', 'source', 'url', 'topic_probability'].map((name) => r[name]!);
      const models = ['directional', 'semantic'];
      return [...about, ...told, ...models.flatMap((model) => parts.map((part) => r[`${model}_${part}`]!))];
    }),
  );
}

function sorted(held: Held[]): Held[] {
  const text = new Map(held.map((row) => [row, JSON.stringify(row)]));
  return held.sort((a, b) => (text.get(a)! < text.get(b)! ? -1 : 1));
}
