import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { snapshot as snapshotCommand } from '../../src/commands/snapshot.ts';
import { aSandboxForAll, aWarehouseForAll } from '../support/for-all.ts';
import { aRow, upsert } from '../warehouse/a-row.ts';
import { runCommand } from './run-command.ts';

const warehouse = await aWarehouseForAll();
const sandbox = await aSandboxForAll();

type Options = Parameters<typeof snapshotCommand.run>[2];

async function snapshot(name?: string, options: Options = {}) {
  const run = { warehouse, sandbox, json: true };
  return JSON.parse((await runCommand(run, (session) => snapshotCommand.run(session, name, options))).output);
}

it('a name brings back what was known at its moment, after the rows have changed', async () => {
  const { db } = warehouse;
  const row = aRow({ directional_score: 0.5 });
  await upsert(db, [row]);
  expect(await snapshot('paper-2026', { note: 'as submitted' })).toMatchObject({
    name: 'paper-2026',
    note: 'as submitted',
    at: expect.stringMatching(/^\d{4}-/),
  });
  await upsert(db, [{ ...row, directional_score: -0.5 }]);
  const scores = async (of: string) => {
    const { rows } = await sql<{
      score: number;
    }>`select directional_score as score from ${sql.raw(of)}`.execute(db);
    return rows.map(({ score }) => score);
  };
  expect(await scores('gmsi.headlines')).toEqual([-0.5]);
  expect(await scores("gmsi.headlines_as_of(gmsi.moment('paper-2026'))")).toEqual([0.5]);

  const plan = await sql
    .raw("explain select from gmsi.headlines_as_of(gmsi.moment('paper-2026'))")
    .execute(db);
  expect(JSON.stringify(plan.rows)).toMatch(/known_from <= '/);
});

it('a name never moves; the list has all, the earliest first; a removed name is free', async () => {
  const june = { at: '2025-06-30T14:00:00.123456+02:00' };
  expect(await snapshot('june', june)).toMatchObject({ at: '2025-06-30T12:00:00.123456Z', note: null });
  await expect(snapshot('june', { at: '2025-07-01T00:00:00Z' })).rejects.toThrow(
    'june is the name of a moment already.',
  );
  const { moments } = await snapshot();
  expect(moments[0]).toMatchObject({ name: 'june', at: '2025-06-30T12:00:00.123456Z' });
  await expect(snapshot('jun', { remove: true })).rejects.toMatchObject({
    hint: expect.stringContaining('Did you mean june?'),
  });
  expect(await snapshot('june', { remove: true })).toEqual({ removed: 'june' });
  await expect(sql`select gmsi.moment('june')`.execute(warehouse.db)).rejects.toThrow(
    'no moment is named june',
  );
  expect(await snapshot('june', june)).toMatchObject({ name: 'june' });
});

it.each<[string | undefined, Options, string]>([
  ['2026', {}, '"2026" cannot be the name of a moment.'],
  ["x'; drop table gmsi.moments", {}, 'cannot be the name'],
  ['a'.repeat(64), {}, 'cannot be the name'],
  [undefined, { note: 'x' }, 'need a name'],
  ['later', { at: '2099-01-01T00:00:00Z' }, 'is in the future'],
  ['later', { at: '2025-01-01' }, 'is not valid'],
  ['later', { at: '-271821-04-20T00:00:00Z' }, 'is before 1900'],
])('refuses %s %j', async (name, options, message) => {
  await expect(snapshot(name, options)).rejects.toThrow(message);
});
