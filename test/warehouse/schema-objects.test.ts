import { sql } from 'kysely';
import { expect } from 'vitest';
import { schemaDrift, schemaObjects } from '../../src/warehouse/schema-objects.ts';
import { it } from '../support/serving.ts';

it('knows the objects of a fresh schema', async ({ db }) => {
  await expect(`${(await schemaObjects(db)).join('\n')}\n`).toMatchFileSnapshot(
    '../../migrations/objects.txt',
  );
});

it('finds what is gone, disabled, changed or added, whatever months there are', async ({ db }) => {
  await sql`
    select gmsi.ensure_month_partition('headlines', '2019-05-01');
    drop index gmsi.windows_uncovered;
    alter table gmsi.headlines disable trigger user;
    alter table gmsi.loads alter run_by drop not null;
    create index mine on gmsi.headlines (source);
    alter table gmsi.headlines add column desk text`.execute(db);
  const { gone, added } = await schemaDrift(db);
  expect(gone).toContain('index windows_uncovered on windows');
  expect(gone).toContain('column loads.run_by text not null');
  expect(gone.filter((one) => one.startsWith('trigger')).length).toBeGreaterThan(0);
  expect(added).toEqual(
    expect.arrayContaining([
      'index mine on headlines',
      'column headlines.desk text',
      'column loads.run_by text',
      expect.stringMatching(/^trigger .* on headlines \(disabled\)$/),
    ]),
  );
  expect(gone.every((one) => !/_2019_05/.test(one)) && added.every((one) => !/_2019_05/.test(one))).toBe(
    true,
  );
});
