import { expect, it } from 'vitest';
import { aFolder, gmsi } from './gmsi.ts';

it('the demo holds revisions and retractions, so that people see what was known then', async () => {
  await using folder = await aFolder();
  const setting = { cwd: folder.path };
  const { code, stdout } = await gmsi(['demo'], setting);
  expect(code).toBe(0);
  expect(stdout).toContain('Since then, the sandbox changed a few headlines.');
  const changed = `select (select count(*) from gmsi.headline_revisions) > 100
    and (select count(*) from gmsi.headlines where retracted_at is not null) > 50 as holds_changes`;
  const asked = await gmsi(['psql', '-c', changed], setting);
  expect(asked.stdout).toMatch(/^holds_changes\nt\n/);
  expect(await gmsi(['demo', '--remove', '--yes'], setting)).toMatchObject({ code: 0 });
});
