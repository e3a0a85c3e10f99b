import { sql } from 'kysely';
import { beforeAll, expect, test } from 'vitest';
import { type Column, type Relation, readColumns, readRelations } from '../../scripts/data-dictionary.ts';
import { factNames } from '../../src/probe/fact.ts';
import { aWarehouseForAll } from '../support/for-all.ts';

const { db } = await aWarehouseForAll();
let relations: readonly Relation[];
let columns: readonly Column[];
/** Each comment of the database, and what it is about. */
let comments: readonly (readonly [about: string, comment: string])[];

beforeAll(async () => {
  relations = await readRelations(db);
  columns = await readColumns(db);
  comments = [
    ...relations.map(({ name, comment }) => [name, comment ?? ''] as const),
    ...columns.map(({ relation, column, comment }) => [`${relation}.${column}`, comment ?? ''] as const),
  ];
});

/** Returns each match that `isThere` does not accept, with the comment's place. */
function missing(pattern: RegExp, isThere: (...groups: string[]) => boolean): string[] {
  const found = comments.flatMap(([about, comment]) =>
    [...comment.matchAll(pattern)].map(([text, ...groups]) => ({ about, text, groups })),
  );
  expect(found.length).toBeGreaterThan(0);
  return found.filter(({ groups }) => !isThere(...groups)).map(({ about, text }) => `${about}: ${text}`);
}

test('a comment names tables, views, functions and columns that are there', async () => {
  const { rows: types } = await sql<{ name: string }>`
    select typname as name from pg_type where typnamespace = 'gmsi'::regnamespace`.execute(db);
  const named = new Set([...relations, ...types].map(({ name }) => name));
  const parts = new Set(columns.map(({ relation, column }) => `${relation}.${column}`));
  expect(
    missing(/\bgmsi\.(\w+)(?:\.(\w+))?/g, (name = '', column) =>
      column === undefined ? named.has(name) : parts.has(`${name}.${column}`),
    ),
  ).toEqual([]);
});

test('the comment of a fact names the facts that a probe tests, and no other', () => {
  const [, comment] = comments.find(([about]) => about === 'learned_facts.fact')!;
  expect(comment.match(/\w+/g)!.filter((word) => word !== 'or')).toEqual(factNames);
});

test('the comment of a column names each word that the column can have', async () => {
  const { rows } = await sql<{ about: string; condition: string }>`
    select relname || '.' || attname as about, pg_get_constraintdef(c.oid) as condition
    from pg_constraint c join pg_class r on r.oid = conrelid
    join pg_attribute a on attrelid = conrelid and attnum = conkey[1]
    where connamespace = 'gmsi'::regnamespace and contype = 'c' and cardinality(conkey) = 1 and not relispartition`.execute(
    db,
  );
  const words = rows.flatMap(({ about, condition }) =>
    [...condition.matchAll(/'([^']+)'::text[,\]]/g)].map(([, word = '']) => ({ about, word })),
  );
  expect(words.length).toBeGreaterThan(20);
  const said = new Map(comments);
  expect(words.filter(({ about, word }) => !new RegExp(`\\b${word}\\b`).test(said.get(about) ?? ''))).toEqual(
    [],
  );
});
