import { randomUUID } from 'node:crypto';
import { chmod, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { aWarehouseForAll } from '../support/for-all.ts';
import { webServer } from '../support/other-servers.ts';
import { anEmptyDatabase, aWarehouse, type TestWarehouse } from '../support/test-warehouse.ts';
import { aNewField, countRows, requestsBooked } from '../support/warehouse-state.ts';
import { accessTo, type Ended, gmsi, says } from './gmsi.ts';
import { gmsiHere } from './in-process.ts';
import { jobFor, quarter } from './jobs.ts';
import { aPlaceForAll } from './place.ts';

const { folder, sandbox, warehouse } = await aPlaceForAll();
const empty = await anEmptyDatabase();
afterAll(() => empty[Symbol.asyncDispose]());
/** Begun before the other tests, because both wait some seconds for the warehouse. */
let withoutWarehouse: Promise<[Awaited<ReturnType<typeof doctor>>, Ended]>;
beforeAll(() => {
  const env = { ...accessTo(warehouse, sandbox), DATABASE_URL: nowhere };
  withoutWarehouse = Promise.all([
    doctor({ DATABASE_URL: nowhere, GMSI_API_KEY: 'wrong' }, gmsi),
    gmsi(['doctor', '--json'], { cwd: folder.path, env }),
  ]);
});

const nowhere = 'postgres://user:pw@127.0.0.1:1/db';

/** The lines as a person sees them, by their names: the sign and what follows it. */
async function doctor(env: Record<string, string | undefined>, start = gmsiHere) {
  const given = Object.entries({ ...accessTo(warehouse, sandbox), ...env });
  const set = Object.fromEntries(given.filter((one): one is [string, string] => one[1] !== undefined));
  const { code, stdout } = await start(['doctor', '--quiet'], { cwd: folder.path, env: set });
  const lines = [...stdout.matchAll(/^([✓✗–!]) (\w+) +(.*)(?:\n +→ (.*))?$/gm)];
  const named = lines.map(([, sign, check, found, fix]) => [check, { sign, found, fix }] as const);
  return { code, stdout, lines: Object.fromEntries(named) };
}

it('all is well', async () => {
  const { code, stdout } = await doctor({});
  expect(stdout.match(/^[✓✗–!]/gm)).toEqual(Array(13).fill('✓'));
  expect(stdout).toMatch(/; set: DATABASE_URL, GMSI_API_KEY, GMSI_BASE_URL$/m);
  expect(stdout).toMatch(/\nNext: gmsi status\n$/);
  expect(code).toBe(0);
});

describe('what is not safe', () => {
  const look = async (env: Record<string, string>) => {
    const { code, lines } = await doctor(env);
    expect(code).toBe(0);
    return lines.safety;
  };

  it('is said of settings', async () => {
    const { sign, found, fix } = (await look({
      NODE_TLS_REJECT_UNAUTHORIZED: '0',
      NODE_EXTRA_CA_CERTS: join(folder.path, 'none.pem'),
    }))!;
    expect(sign).toBe('!');
    expect(found).toMatch(/^NODE_TLS_REJECT_UNAUTHORIZED=0: .*; NODE_EXTRA_CA_CERTS names no file/);
    expect(fix).toMatch(/^unset NODE_TLS_REJECT_UNAUTHORIZED .*; set NODE_EXTRA_CA_CERTS/);
  });

  it('is said of files, if others have a way to them', async () => {
    await folder.write('.env', '');
    await folder.write('key', 'sandbox-key');
    await folder.write('jobs/open.yaml', jobFor({ ...quarter, topics: ['Inflation-Food'] }));
    const files = { '.env': 0o604, key: 0o644, jobs: 0o777, 'jobs/open.yaml': 0o666 };
    for (const [name, mode] of Object.entries(files)) await chmod(join(folder.path, name), mode);
    const env = { GMSI_API_KEY: '', GMSI_API_KEY_FILE: 'key' };
    // Nobody else may enter the folder.
    await chmod(folder.path, 0o700);
    expect(await look(env)).toMatchObject({ sign: '✓' });
    const above = dirname(folder.path);
    await chmod(folder.path, 0o755);
    const { mode } = await stat(above);
    await chmod(above, mode | 0o001);
    const reached = await look(env);
    await chmod(above, mode);
    const found =
      'every user of this machine can read .env key; every user of this machine can change jobs jobs/open.yaml';
    expect(reached).toMatchObject({
      sign: '!',
      found,
      fix: 'chmod o-r .env key; chmod o-w jobs jobs/open.yaml',
    });
    for (const name of ['.env', 'jobs']) await rm(join(folder.path, name), { recursive: true });
  });
});

const own = await aWarehouseForAll();

describe("the service's description", () => {
  /** A service whose only answers are its countries and `body` for its description. */
  async function described(body: () => string | undefined, type = 'application/json') {
    const asked: string[] = [];
    const server = await webServer((request, response) => {
      asked.push(request.url!);
      const sent = request.url === '/v1/countries' ? '["US"]' : body();
      response.writeHead(sent === undefined ? 404 : 200, { 'content-type': type, connection: 'close' });
      response.end(sent ?? '{"detail":"Not Found"}');
    });
    return Object.assign(server, { asked });
  }
  const document = (version: string, parameters: string[]) =>
    JSON.stringify({
      info: { version },
      paths: { '/v1/headlines/feed/historical/gmsi/{country}': { get: operation(parameters) } },
    });
  const operation = (names: string[]) => ({ parameters: names.map((name) => ({ name, in: 'query' })) });
  const usual = ['topic', 'match_type', 'start_date', 'limit', 'next_token'];

  it('is read in one request, which is booked, and says what changed since, and what gmsi sends that is not in it', async () => {
    let body = document('1.0', usual);
    await using service = await described(() => body);
    const look = () => doctor({ GMSI_BASE_URL: service.url, DATABASE_URL: own.url });
    const first = await look();
    expect(service.asked).toEqual(['/v1/countries', '/openapi.json']);
    expect(await requestsBooked(own.db)).toBe(2);
    expect(first.stdout).toMatch(
      /^! description +version 1.0, 1 operation, unchanged since .*; gmsi-headlines has no end_date, gmsi-index is not in/m,
    );
    body = document('1.1', [...usual, 'end_date']);
    const changed =
      /^! description .* changed [-\d]+: version was "1.0" and is "1.1"; GET \/v1\/headlines\/.*\/{country} end_date is new$/m;
    // It is said for a week, because nobody may have read it the first time.
    for (let times = 0; times < 2; times++) expect((await look()).stdout).toMatch(changed);
    expect(await countRows(own.db, 'service_descriptions')).toBe(2);
    await sql`update gmsi.service_descriptions set first_seen_at = first_seen_at - interval '8 days'`.execute(
      own.db,
    );
    expect((await look()).stdout).toMatch(/^! description +version 1.1, .*; gmsi-index is not in it/m);
  });

  it.each([
    ['that is not there', () => undefined, 'application/json', 'with 404'],
    ['that is a page', () => '<html><title>Docs</title></html>', 'text/html', 'without JSON'],
    ['that is cut', () => '{"paths":{', 'application/json', 'without JSON'],
    ['that is something else', () => '[1]', 'application/json', 'not an OpenAPI document'],
    ['that is huge', () => ' '.repeat(5 * 1024 * 1024), 'application/json', 'bytes'],
  ])('%s is not an error', async (_, body, type, words) => {
    await using service = await described(body, type);
    const before = await countRows(own.db, 'service_descriptions');
    const { code, lines } = await doctor({ GMSI_BASE_URL: service.url, DATABASE_URL: own.url });
    expect(lines.description).toMatchObject({ sign: '✓', found: expect.stringContaining(words) });
    expect(lines.description!.found).toMatch(/^none: /);
    expect(service.asked).toEqual(['/v1/countries', '/openapi.json']);
    expect(await countRows(own.db, 'service_descriptions')).toBe(before);
    expect(code).toBe(0);
  });
});

it('names a field that appeared', async () => {
  await aNewField(warehouse.db);
  const { code, stdout } = await doctor({});
  expect(stdout).toMatch(
    /^To do\n.*\n1 field new +Records of gmsi-headlines .*: mood\. .* gmsi check --repair records --dry-run +0\n/m,
  );
  expect(code).toBe(0);
});

it('says first what is wrong with the jobs, and is not content with it', async () => {
  await folder.write('jobs/broken.yaml', 'countries: [US');
  const broken = await doctor({});
  expect(broken.stdout).toMatch(
    /^To do\njob .*\nbroken +cannot be read .* gmsi plan broken +0\n(.+\n)*\n✗ jobs +1 failing\n/,
  );
  expect(broken.code).toBe(2);
  const job = {
    countries: ['US'],
    topics: ['Inflation-Food'],
    start_date: '2026-01-01',
    end_date: '2026-01-31',
  };
  await folder.write('jobs/broken.yaml', { ...job, schedule: { sync: '0 1 * * *' } });
  expect((await doctor({})).lines.jobs).toMatchObject({ sign: '✗', found: '1 stopped' });
  await rm(join(folder.path, 'jobs'), { recursive: true });
});

describe('a new database', () => {
  it('is no fault, and the service is asked all the same', async () => {
    await withoutWarehouse;
    const before = sandbox.stats().requests;
    const { code, lines } = await doctor({ DATABASE_URL: empty.url });
    expect(lines.service).toMatchObject({ sign: '✓', found: expect.stringContaining('not counted') });
    expect(lines.schema).toMatchObject({
      sign: '✓',
      found: 'none yet: gmsi migrate creates it, or the first load',
    });
    expect(sandbox.stats().requests).toBe(before + 1);
    expect(code).toBe(0);
  });

  it('with a wrong key says so, and ends with 2', async () => {
    const { code, lines } = await doctor({ DATABASE_URL: empty.url, GMSI_API_KEY: 'wrong' });
    expect(lines.key).toMatchObject({ sign: '✗', fix: expect.stringContaining('Check GMSI_API_KEY') });
    expect(lines.warehouse).toMatchObject({ sign: '✓' });
    expect(code).toBe(2);
  });
});

it('without a warehouse, what could not be looked at is neither good nor bad (null in JSON), and the key is tried', async () => {
  const [{ code, lines }, json] = await withoutWarehouse;
  expect(lines.key).toMatchObject({ sign: '✗' });
  expect(lines.warehouse).toMatchObject({
    sign: '✗',
    fix: expect.stringContaining('Is the server running?'),
  });
  for (const check of ['encryption', 'schema', 'privileges', 'space', 'logins', 'clock', 'jobs'])
    expect(lines[check]).toMatchObject({ sign: '–' });
  expect(code).toBe(2);

  const { ok, findings } = JSON.parse(json.stdout);
  const found = (wanted: unknown) =>
    findings.filter((one: { ok: unknown }) => one.ok === wanted).map((one: { check: string }) => one.check);
  expect(found(true)).toEqual(['node', 'safety', 'configuration', 'service']);
  expect(found(false)).toEqual(['warehouse']);
  expect(found(null).join()).toBe('jobs,description,encryption,schema,privileges,space,logins,clock');
  expect({ ok, code: json.code }).toEqual({ ok: false, code: 2 });
});

it('without a key, the service is not asked, and the warehouse is looked at', async () => {
  const { code, lines } = await doctor({ GMSI_API_KEY: undefined });
  expect(lines.configuration).toMatchObject({ sign: '✗', found: 'GMSI_API_KEY is not set.' });
  expect(lines.service).toMatchObject({ sign: '–' });
  expect(lines.privileges).toMatchObject({ sign: '✓' });
  expect(code).toBe(2);
});

it('with the requests of the month used up, says so instead of nothing, and ends with 75', async () => {
  await using spent = await aWarehouse();
  await doctor({ DATABASE_URL: spent.url });
  await sql`update gmsi.api_usage set requests = 250000`.execute(spent.db);
  const before = sandbox.stats().requests;
  const { code, lines } = await doctor({ DATABASE_URL: spent.url });
  expect(lines.service).toMatchObject({ sign: '–', found: expect.stringContaining('budget is spent') });
  expect(sandbox.stats().requests).toBe(before);
  expect(code).toBe(75);
});

/** A user of the server's, whose name must be quoted, and what the doctor says to it. */
async function aUser({ db, url }: TestWarehouse) {
  const name = `Etl ${randomUUID().slice(0, 8)}`;
  const own = Object.assign(new URL(url), { username: name, password: 'pw' }).href;
  await sql`create role ${sql.id(name)} login password 'pw'`.execute(db);
  return {
    name: `"${name}"`,
    look: () => doctor({ DATABASE_URL: own }),
    async [Symbol.asyncDispose]() {
      await sql`drop owned by ${sql.id(name)} cascade; drop role ${sql.id(name)}`.execute(db);
    },
  };
}

describe('a schema that somebody has changed by hand', () => {
  it('names the tables and columns that are gone, and a load says why it ends', async () => {
    await using own = await aWarehouse();
    const env = { DATABASE_URL: own.url };
    const days = { from: '2024-01-01', to: '2024-01-31' };
    await folder.write('jobs/month.yaml', jobFor({ countries: ['US'], topics: ['Inflation-Food'], ...days }));
    await sql`alter table gmsi.headlines drop column source cascade`.execute(own.db);
    const load = await gmsiHere(['backfill', 'month'], {
      cwd: folder.path,
      env: { ...accessTo(warehouse, sandbox), ...env },
    });
    expect(load.code).toBe(2);
    expect(load.stdout).toMatch(
      /gmsi: A part of the warehouse's schema is gone: .*source.*\n {2}→ .*gmsi doctor says what to do/,
    );
    await sql`drop table gmsi.alerts`.execute(own.db);
    const { code, lines } = await doctor(env);
    expect(lines.schema).toMatchObject({
      sign: '✗',
      found: expect.stringMatching(
        /^somebody has dropped gmsi\.alerts, gmsi\.headlines\.source, gmsi\.\w+ and \d+ more$/,
      ),
      fix: expect.stringMatching(/^Restore a backup/),
    });
    expect(code).toBe(2);
    const migrated = await gmsiHere(['migrate'], { cwd: folder.path, env });
    expect(migrated).toMatchObject(
      says(2, /02_versions\.sql: .*source.*\n {2}→ Nothing was changed\. .* restore a backup/),
    );
  });

  it('names a view, which gmsi migrate makes again', async () => {
    await using own = await aWarehouse();
    const env = { DATABASE_URL: own.url };
    await sql`drop view gmsi.arrival_delays`.execute(own.db);
    const { schema } = (await doctor(env)).lines;
    expect(schema).toMatchObject({ sign: '✗', found: 'somebody has dropped gmsi.arrival_delays' });
    expect(schema!.fix).toMatch(/^As \S+: gmsi migrate, /);
    expect(await gmsiHere(['migrate'], { cwd: folder.path, env })).toMatchObject({ code: 0 });
    expect((await doctor(env)).lines.schema).toMatchObject({ sign: '✓', found: 'current' });
  });
});

it('without space to write, says so, although the server answers', async () => {
  await using own = await aWarehouse();
  const env = { DATABASE_URL: own.url };
  expect((await doctor(env)).lines.space).toMatchObject({ sign: '✓' });
  await sql
    .raw(`
      create function public.fill_disk() returns event_trigger language plpgsql as $$ begin
        raise exception 'could not extend file: No space left on device' using errcode = '53100'; end $$;
      create event trigger fill_disk on ddl_command_start when tag in ('CREATE TABLE AS')
        execute function public.fill_disk()`)
    .execute(own.db);
  const { code, lines } = await doctor(env);
  expect(lines.space).toMatchObject({
    sign: '✗',
    found: expect.stringContaining("The warehouse's disk is full"),
    fix: expect.stringMatching(/^Make room/),
  });
  expect(code).toBe(2);
});

it('says that a service is reached without a proxy if one is set for other addresses', async () => {
  const set = { HTTPS_PROXY: 'http://127.0.0.1:1' };
  expect((await doctor(set)).lines.configuration!.found).toContain(
    `${sandbox.url} without a proxy, with a key`,
  );
  expect((await doctor({})).lines.configuration!.found).toContain(`${sandbox.url}, with a key`);
});

describe('a user without rights', () => {
  it('gets the one grant that helps, and it helps', async () => {
    await using own = await aWarehouse();
    await using user = await aUser(own);
    const { code, lines } = await user.look();
    expect(lines.schema).toMatchObject({ sign: '–' });
    expect(lines.privileges).toMatchObject({
      sign: '✗',
      found: expect.stringMatching(/lacks ([^,]+, ){2}[^,]+ and \d+ more$/),
      fix: expect.stringContaining(`grant gmsi_loader to ${user.name};`),
    });
    expect(code).toBe(2);
    const [, grant] = /: (grant gmsi_loader [^;]+;)/.exec(lines.privileges!.fix!)!;
    await sql.raw(grant!).execute(own.db);
    const enough = { sign: '✓', found: 'enough to load' };
    expect(await user.look()).toMatchObject({ code: 0, lines: { privileges: enough } });
  });

  it('who has the role, but the role lacks something, or the schema is old, is sent to gmsi migrate', async () => {
    await using own = await aWarehouse();
    await using user = await aUser(own);
    const statements = `grant gmsi_loader to ${user.name}; revoke insert on gmsi.headlines from gmsi_loader`;
    await sql.raw(statements).execute(own.db);
    expect((await user.look()).lines.privileges).toMatchObject({
      sign: '✗',
      found: `the user ${user.name} lacks INSERT on gmsi.headlines`,
      fix: expect.stringContaining('gmsi migrate'),
    });
    await sql`delete from gmsi.kysely_migration where name = (select max(name) from gmsi.kysely_migration)`.execute(
      own.db,
    );
    const { code, lines } = await user.look();
    expect(lines.schema).toMatchObject({ sign: '✗', fix: expect.stringMatching(/^As \S+: gmsi migrate$/) });
    expect(code).toBe(2);
  });

  it('on a new database gets the advice to have it created, and that helps', async () => {
    await using own = await anEmptyDatabase();
    await using user = await aUser(own);
    const { privileges } = (await user.look()).lines;
    expect(privileges).toMatchObject({ sign: '✗', fix: expect.stringContaining(`to ${user.name};`) });
    const [, grant] = /: (grant create on database [^;]+;)/.exec(privileges!.fix!)!;
    await sql.raw(grant!).execute(own.db);
    expect(await user.look()).toMatchObject({ code: 0 });
  });
});
