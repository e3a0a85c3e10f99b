import { expect, test } from 'vitest';
import type { Sandbox } from '../../src/sandbox/index.ts';
import { aSandbox } from './client.ts';

type Standing = ReturnType<Sandbox['truth']>[number] & { readonly under: string };

/** Neighbours in the sandbox's world, and one pair that is not. */
const PAIRS = [
  ...['DE', 'FR'].flatMap((country) =>
    ['Inflation-Food', 'Inflation-Energy', 'Labour Market-Employment'].map((topic) => ({ country, topic })),
  ),
  { country: 'BR', topic: 'Migration' },
];
const MONTH = { from: '2026-01-01', to: '2026-01-31' };

test('a headline stands under several topics and countries, the same but for its scores', async () => {
  const sandbox = await aSandbox();
  const standings = standingsOf(sandbox);
  const shared = [...groupBy(standings, ({ id }) => id!).values()].filter((them) => them.length > 1);
  expect(shared.length / standings.length).toBeGreaterThan(0.02);
  expect(shared.length / standings.length).toBeLessThan(0.2);
  const isSame = ({ publishedAt, happenedAt, headline, source, language, url, story }: Standing) =>
    JSON.stringify([publishedAt, happenedAt, headline, source, language, url, story]);
  for (const them of shared) {
    expect(new Set(them.map(isSame)).size).toBe(1);
    expect(new Set(them.map(({ under }) => under)).size).toBe(them.length);
    expect(new Set(them.map(({ directional }) => JSON.stringify(directional))).size).toBe(them.length);
    // At home in one country, in every other it is news from abroad.
    const domestic = them.filter(({ matchType }) => matchType === 'DOMESTIC');
    expect(new Set(domestic.map(({ under }) => under.slice(0, 2))).size).toBeLessThan(2);
  }
  const countries = shared.map((them) => new Set(them.map(({ under }) => under.slice(0, 2))).size);
  expect(new Set(countries)).toEqual(new Set([1, 2]));
});

function standingsOf(sandbox: Sandbox, days = MONTH): Standing[] {
  return PAIRS.flatMap(({ country, topic }) =>
    sandbox.truth({ country, topic, ...days }).map((it) => ({ ...it, under: `${country} ${topic}` })),
  );
}

function groupBy<T>(items: readonly T[], keyOf: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) groups.set(keyOf(item), [...(groups.get(keyOf(item)) ?? []), item]);
  return groups;
}
