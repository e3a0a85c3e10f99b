import { join } from 'node:path';
import { sql } from 'kysely';
import { afterAll, expect, it } from 'vitest';
import { aWarehouseForAll } from '../support/for-all.ts';
import { webServer } from '../support/other-servers.ts';
import { aFolder } from './gmsi.ts';
import { gmsiHere } from './in-process.ts';

const escapes = '\x1b]0;owned\x07\x1b[2J\x9b31m\u202eevil\u2066\u200b\u{e0041}\x7f';
const forged = `\r\ngmsi: forged\r\nWARN: forged${escapes}`;

const folder = await aFolder();
const warehouse = await aWarehouseForAll();
const service = await aHostileService();
const env = {
  DATABASE_URL: warehouse.url,
  GMSI_BASE_URL: service.url,
  GMSI_API_KEY: 'k',
  // No psql there.
  PATH: join(folder.path, 'bin'),
};
await folder.write('jobs/job.yaml', {
  countries: 'all',
  topics: 'all',
  start_date: '2024-01-01',
  end_date: '2024-01-31',
  service: { rate: 'unlimited', max_attempts: 1 },
});
afterAll(async () => {
  for (const own of [service, folder]) await own[Symbol.asyncDispose]();
});

it('prints nothing that a terminal would obey, whatever the service calls things and says of errors', async () => {
  const run = (...args: string[]) => gmsiHere(args, { cwd: folder.path, env });
  const names = { countries: [{ code: `US${forged}` }], topics: [{ name: `Wars${forged}` }] };

  const listed = await run('lookups', '--json');
  expect(JSON.parse(listed.stdout)).toMatchObject(names);
  const backfill = await run('backfill', 'job', '--verbose');
  expect(backfill.code).toBe(1);
  await sql`update gmsi.topics set category = ${forged}`.execute(warehouse.db);
  await sql`update gmsi.loads set job = ${`job${forged}`}`.execute(warehouse.db);

  const all = [
    listed,
    backfill,
    await run('lookups', 'states'),
    await run('plan', 'job'),
    await run('status', 'job'),
    await run('status', '--json'),
    await run('check', 'job'),
    await run('export', '--country', `US ${forged}`, '--verbose'),
    await run('psql', '-c', `do $$ begin raise exception '%', ${sqlText(forged)}; end $$`),
    await run('status', `nosuch${forged}`),
    await run(`nosuch${forged}`),
  ];

  const printed = all.map(({ stdout, stderr }) => stdout + stderr).join('');
  // What is looked for did come by.
  expect(printed).toContain('US gmsi: forged WARN: forged]0;owned[2J31mevil');
  expect(printed).not.toMatch(/(?!\n)[\p{Cc}\p{Cf}]/u);
  expect(printed).not.toMatch(/^(gmsi|WARN): forged/m);
});

function sqlText(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

/** Names and errors that are not meant well. */
function aHostileService() {
  return webServer((request, response) => {
    const path = new URL(request.url!, 'http://service').pathname.replace('/v1', '');
    const answer: Record<string, unknown> = {
      '/countries': [{ code: `US${forged}`, name: `States${forged}` }],
      '/headlines/topics/gmsi': [{ name: `Wars${forged}` }],
    };
    response.writeHead(path in answer ? 200 : 400, { 'content-type': 'application/json' });
    response.end(JSON.stringify(answer[path] ?? { detail: `no${forged}` }));
  });
}
