import { createHash, createHmac, pbkdf2Sync, randomBytes } from 'node:crypto';
import { sql } from 'kysely';
import { ConfigError } from '../errors.ts';
import { Secret } from '../secret.ts';
import type { Warehouse } from './connect.ts';
import { namedDatabaseError } from './errors.ts';

/** This comment marks our logins; gmsi does not change any other role of the same name. */
const mark = 'May read the schema gmsi. Made by gmsi.';

/** Initial settings of sessions, which end forgotten queries and connections. The user can change them. */
const settings = {
  default_transaction_read_only: 'on',
  statement_timeout: '10min',
  idle_in_transaction_session_timeout: '10min',
  // So that days in a user's own SQL are the same as in the tables.
  TimeZone: 'UTC',
  // A plan over all months looks so expensive that PostgreSQL would compile it, for a minute. Not inherited from gmsi_reader.
  jit: 'off',
};

/**
 * Creates a login with only the rights of `gmsi_reader`, or sets a new password for one that it created before.
 * @returns the password, which is stored nowhere: the server gets only a verifier, so its log cannot contain the password
 * @throws ConfigError if the name is taken, or the user or the server does not allow it
 */
export async function makeReader(
  warehouse: Warehouse,
  name: string,
): Promise<{ readonly password: Secret; readonly isNew: boolean }> {
  const password = randomBytes(18).toString('base64url');
  const role = sql.id(name);
  try {
    const isNew = await warehouse.transaction().execute(async (trx) => {
      const { rows } = await sql<{
        may_read: boolean;
        is_there: boolean;
        is_ours: boolean;
        may_connect: boolean;
        database: string;
      }>`
        select datname as database,
               coalesce(has_schema_privilege(to_regrole('gmsi_reader'), to_regnamespace('gmsi'), 'usage'), false) as may_read,
               r.oid is not null as is_there,
               shobj_description(r.oid, 'pg_authid') = ${mark}
                 and not (rolsuper or rolcreaterole or rolcreatedb or rolreplication or rolbypassrls) as is_ours,
               coalesce(has_database_privilege(r.oid, d.oid, 'connect'),
                        exists (select from aclexplode(coalesce(datacl, acldefault('d', datdba)))
                                where grantee = 0 and privilege_type = 'CONNECT')) as may_connect
        from pg_database d left join pg_roles r on rolname = ${name} where datname = current_database()`.execute(
        trx,
      );
      const { may_read, is_there, is_ours, may_connect, database } = rows[0]!;
      if (!may_read)
        throw new ConfigError('There is no role gmsi_reader that may read this warehouse.', {
          hint: 'Run gmsi migrate, which grants its rights or says what to run first.',
        });
      if (is_there && !is_ours)
        throw new ConfigError(`The server has a role ${name} already, which this command did not create.`, {
          hint:
            `Choose another name; or, if that role should read: grant gmsi_reader to ${name}; alter role ` +
            `${name} set jit = off;`,
        });
      if (!is_there) await sql`create role ${role}`.execute(trx);
      await sql`alter role ${role} with login connection limit 20 password ${sql.lit(verifierOf(password))}`.execute(
        trx,
      );
      for (const [setting, value] of Object.entries(settings))
        await sql`alter role ${role} set ${sql.id(setting)} = ${sql.lit(value)}`.execute(trx);
      await sql`comment on role ${role} is ${sql.lit(mark)}`.execute(trx);
      await sql`grant gmsi_reader to ${role}`.execute(trx);
      if (!may_connect) await sql`grant connect on database ${sql.id(database)} to ${role}`.execute(trx);
      return !is_there;
    });
    return { password: new Secret(password), isNew };
  } catch (error) {
    const named = namedDatabaseError(error);
    const { code, message } = error as { code?: string; message: string };
    if (code === undefined || (named !== error && code !== '42501')) throw named;
    throw new ConfigError(`The login cannot be made: ${message}`, {
      cause: error,
      hint: `Let a user who may create roles run: create role ${name} login password '…'; alter role ${name} set jit = off; grant gmsi_reader to ${name};`,
    });
  }
}

/** Computes a server's password verifier (RFC 5803). */
function verifierOf(password: string): string {
  const iterations = 4096;
  const salt = randomBytes(16);
  const salted = pbkdf2Sync(password, salt, iterations, 32, 'sha256');
  const keyed = (text: string) => createHmac('sha256', salted).update(text).digest();
  const stored = createHash('sha256').update(keyed('Client Key')).digest('base64');
  return `SCRAM-SHA-256$${iterations}:${salt.toString('base64')}$${stored}:${keyed('Server Key').toString('base64')}`;
}
