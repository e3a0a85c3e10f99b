import { randomUUID } from 'node:crypto';
import { tmpdir } from 'node:os';
import { sql } from 'kysely';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createReader } from '../../src/commands/reader.ts';
import { compiledLogins } from '../../src/warehouse/health.ts';
import { says } from '../cli/gmsi.ts';
import { gmsiHere } from '../cli/in-process.ts';
import { aSandboxForAll, aWarehouseForAll } from '../support/for-all.ts';
import { aRow, upsert } from '../warehouse/a-row.ts';
import { type Printed, runCommand } from './run-command.ts';

const warehouse = await aWarehouseForAll();
const sandbox = await aSandboxForAll();
const roles: string[] = [];
/** The login that most tests look at, and a session of it. */
let made: Printed & { readonly login: Login };
let reader: pg.Client;

interface Login {
  readonly created: boolean;
  readonly user: string;
  readonly password: string;
  readonly address: string;
}

beforeAll(async () => {
  await upsert(warehouse.db, [aRow({ directional_score: 0.5 })]);
  await sql`insert into gmsi.moments (name, at, taken_by) values ('US', now(), 'test')`.execute(warehouse.db);
  made = await makeReader(aName());
  reader = await asReader(made.login.address);
});
afterAll(async () => {
  await reader?.end();
  for (const role of roles)
    await sql.raw(`drop owned by "${role}"; drop role "${role}"`).execute(warehouse.db);
});

/** A name that no other test uses: roles belong to the server. */
function aName(): string {
  const name = `reader_${randomUUID().replaceAll('-', '')}`;
  roles.push(name);
  return name;
}

/** Runs the command as the owner of the server, or as somebody else. */
async function makeReader(name: string, as: { readonly url?: string; readonly json?: boolean } = {}) {
  const { url = warehouse.url, json = true } = as;
  const printed = await runCommand({ warehouse: { ...warehouse, url }, sandbox, json }, (session) =>
    createReader(session, name),
  );
  return { ...printed, login: (json ? JSON.parse(printed.output) : {}) as Login };
}

async function asReader(address: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: address });
  await client.connect();
  return client;
}

/** What the reader is refused with, also once it has turned off what its session begins with; undone if it is not. */
async function refusalOf(statement: string): Promise<string | undefined> {
  await reader.query('begin read write');
  try {
    await reader.query(statement);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  } finally {
    await reader.query('rollback');
  }
}

async function namesOf(query: string): Promise<string[]> {
  const { rows } = await sql.raw<{ name: string }>(query).execute(warehouse.db);
  return rows.map(({ name }) => name);
}

test('a new login is printed with all that a program asks for, and its password reaches no log', async () => {
  const { code, login, log } = made;
  const { hostname: host, port, pathname } = new URL(warehouse.url);
  expect(code).toBe(0);
  expect(login).toMatchObject({ created: true, host, port: Number(port), database: pathname.slice(1) });
  expect(login.password).toMatch(/^[\w-]{24}$/);
  expect(JSON.stringify(log)).not.toContain(login.password);
  expect((await reader.query('select current_user::text as name')).rows).toEqual([{ name: login.user }]);
});

test('its password is stored as the server would, and its sessions begin read-only, limited, in UTC, without JIT', async () => {
  const [kept] = await namesOf(
    `select rolpassword as name from pg_authid where rolname = '${made.login.user}'`,
  );
  expect(kept).toMatch(/^SCRAM-SHA-256\$4096:/);
  for (const [setting, value] of Object.entries({
    default_transaction_read_only: 'on',
    statement_timeout: '10min',
    idle_in_transaction_session_timeout: '10min',
    timezone: 'UTC',
    jit: 'off',
  }))
    expect((await reader.query(`show ${setting}`)).rows[0]).toEqual(
      Object.fromEntries([[setting === 'timezone' ? 'TimeZone' : setting, value]]),
    );
  await expect(reader.query('create temp table t ()')).rejects.toThrow('read-only transaction');
});

test('it has no power but that of gmsi_reader, also in a session that it has made read-write', async () => {
  const [power] = await namesOf(`
    select concat_ws(' ', rolsuper, rolcreaterole, rolcreatedb, rolreplication, rolbypassrls, (
      select string_agg(roleid::regrole::text || ' ' || admin_option, ', ') from pg_auth_members where member = r.oid
    )) as name from pg_roles r where rolname = '${made.login.user}'`);
  expect(power).toBe('f f f f f gmsi_reader false');
  for (const statement of [
    'update gmsi.headlines set topic = topic',
    'select from gmsi.api_usage',
    'create table public.mine ()',
    'grant gmsi_loader to current_user',
    'set role gmsi_loader',
  ])
    expect(await refusalOf(statement), statement).toMatch(/permission denied|admin option/);
});

test('doctor lists a login that lacks jit = off (skipped without a compiler)', async ({ skip }) => {
  await reader.query('set jit = on');
  const { rows } = await reader.query('select pg_jit_available() as can');
  await reader.query('reset jit');
  if (!rows[0].can) skip();
  const name = aName();
  await sql.raw(`create role ${name} login in role gmsi_reader`).execute(warehouse.db);
  const listed = await compiledLogins(warehouse.db);
  expect(listed).toContain(name);
  expect(listed).not.toContain(made.login.user);
  await sql.raw(`alter role ${name} set jit = off`).execute(warehouse.db);
  expect(await compiledLogins(warehouse.db)).not.toContain(name);
});

test('a command that needs more than it may read says so', async () => {
  const env = { DATABASE_URL: made.login.address };
  expect(await gmsiHere(['status'], { cwd: tmpdir(), env })).toMatchObject(
    says(
      2,
      /^gmsi: The warehouse's user may not do this: permission denied for table schedules\n {2}→ .*Privileges/,
    ),
  );
});

test('a second time, it has another password, and the one before is void', async () => {
  const first = await makeReader(aName());
  const again = await makeReader(first.login.user);
  expect(again.login).toMatchObject({ created: false, user: first.login.user });
  await expect(asReader(first.login.address)).rejects.toThrow('password authentication failed');
  await (await asReader(again.login.address)).end();
});

test('for a person, with the address that only then is shown', async () => {
  const name = aName();
  const { output } = await makeReader(name, { json: false });
  expect(output).toMatch(new RegExp(`^login +${name}: created; can read only the schema gmsi\n`));
  const [, password, address] = /password +(\S+) \(shown only now\)\naddress +(\S+)\n/.exec(output)!;
  expect(new URL(address!)).toMatchObject({ username: name, password });
  expect(output).not.toMatch(/embedded/);
  await (await asReader(address!)).end();
});

test.for([
  ...["x'; drop role gmsi_reader; --", '', 'an analyst', 'x'.repeat(64)],
  ...'Analyst 1st x"y pg_reader gmsi gmsi_reader public none ä'.split(' '),
])('no login is called %o', async (name) => {
  await expect(makeReader(name)).rejects.toThrow(/cannot be the name of a login/);
});

test('a role that is somebody else’s is left as it is, and so is a login that has been given power', async () => {
  const other = aName();
  await sql.raw(`create role ${other} login password 'theirs'`).execute(warehouse.db);
  const before = await namesOf(`select rolpassword as name from pg_authid where rolname = '${other}'`);
  await expect(makeReader(other)).rejects.toMatchObject({
    message: `The server has a role ${other} already, which this command did not create.`,
    hint: expect.stringContaining(`grant gmsi_reader to ${other};`),
  });
  expect(await namesOf(`select rolpassword as name from pg_authid where rolname = '${other}'`)).toEqual(
    before,
  );
  const powerful = (await makeReader(aName())).login.user;
  await sql.raw(`alter role ${powerful} createdb`).execute(warehouse.db);
  await expect(makeReader(powerful)).rejects.toThrow('did not create');
});

describe('a user who is no superuser, as on a managed server', () => {
  let name: string;
  let url: string;
  beforeAll(async () => {
    name = aName();
    await sql.raw(`create role ${name} login password 'x' in role gmsi_loader`).execute(warehouse.db);
    url = Object.assign(new URL(warehouse.url), { username: name, password: 'x' }).href;
  });

  test('who may create no role is told what somebody else has to run', async () => {
    const reader = aName();
    await expect(makeReader(reader, { url })).rejects.toMatchObject({
      message: expect.stringMatching(/^The login cannot be made: permission denied to create role/),
      hint: expect.stringMatching(
        `create role ${reader} login .*; alter role ${reader} set .*; grant gmsi_reader to ${reader};`,
      ),
    });
    roles.pop();
  });

  test('who may create roles makes one, and gives it a new password, if gmsi_reader is theirs to grant', async () => {
    await sql
      .raw(`alter role ${name} createrole; grant gmsi_reader to ${name} with admin option`)
      .execute(warehouse.db);
    const { login } = await makeReader(aName(), { url });
    expect((await makeReader(login.user, { url })).login.created).toBe(false);
    await sql.raw(`revoke gmsi_reader from ${name} cascade`).execute(warehouse.db);
  });
});

test('if not everybody may connect to the database, the login may', async () => {
  const database = new URL(warehouse.url).pathname.slice(1);
  await sql.raw(`revoke connect on database ${database} from public`).execute(warehouse.db);
  try {
    const { login } = await makeReader(aName());
    await (await asReader(login.address)).end();
  } finally {
    await sql.raw(`grant connect on database ${database} to public`).execute(warehouse.db);
  }
});

test('the address has how the connection is encrypted and nothing of its owner’s', async () => {
  const url = `${warehouse.url}?sslmode=disable&application_name=theirs&sslkey=theirs`;
  const { searchParams } = new URL((await makeReader(aName(), { url })).login.address);
  expect(Object.fromEntries(searchParams)).toEqual({ sslmode: 'disable' });
});
