import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { sql } from 'kysely';
import { expect } from 'vitest';
import { Secret } from '../../src/secret.ts';
import { connect } from '../../src/warehouse/connect.ts';
import { migrate } from '../../src/warehouse/migrate.ts';
import { schemaDrift, schemaObjects } from '../../src/warehouse/schema-objects.ts';
import { aFolder } from '../cli/gmsi.ts';
import { aPostgresql15, hasPostgresql15, programs } from '../support/postgresql-15.ts';
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
    create or replace view gmsi.arrival_delays as
      select source, 0::bigint as headlines, null::interval as p50, null::interval as p99 from gmsi.headlines;
    create index mine on gmsi.headlines (source);
    alter table gmsi.headlines add column desk text`.execute(db);
  const { gone, added } = await schemaDrift(db);
  expect(gone).toContain('index windows_uncovered on windows');
  expect(gone).toContain('column loads.run_by text not null');
  expect(gone).toContain('view arrival_delays');
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

it.skipIf(!hasPostgresql15)(
  'finds nothing in a warehouse that was restored from a backup (skipped without the Debian package postgresql-15)',
  async () => {
    await using server = await aPostgresql15();
    await using db = connect({ kind: 'url', url: new Secret(server.url) }, 2);
    await migrate(db);
    await using folder = await aFolder();
    const dump = join(folder.path, 'gmsi.dump');
    const run = promisify(execFile);
    await run(`${programs}/pg_dump`, ['-n', 'gmsi', '-Fc', '-f', dump, server.url]);
    await sql`drop schema gmsi cascade`.execute(db);
    await run(`${programs}/pg_restore`, ['--no-owner', '-d', server.url, dump]);
    expect(await schemaDrift(db)).toEqual({ gone: [], added: [] });
    expect(await migrate(db)).toEqual([]);
  },
);
