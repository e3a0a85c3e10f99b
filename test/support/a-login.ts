import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { Secret } from '../../src/secret.ts';
import { connect } from '../../src/warehouse/connect.ts';
import type { TestWarehouse } from './test-warehouse.ts';

/** A login of its own, as a person has one, and its connections; gone in the end, with all that it owns. */
export async function aLogin({ db: owner, url }: Pick<TestWarehouse, 'db' | 'url'>, role?: string) {
  const name = `someone_${randomUUID().replaceAll('-', '')}`;
  await sql.raw(`create role ${name} login password 'x' ${role ? `in role ${role}` : ''}`).execute(owner);
  const own = Object.assign(new URL(url), { username: name, password: 'x' }).href;
  const db = connect({ kind: 'url', url: new Secret(own) }, 2);
  return {
    name,
    url: own,
    db,
    async [Symbol.asyncDispose]() {
      await db.destroy();
      await sql.raw(`drop owned by ${name} cascade; drop role ${name}`).execute(owner);
    },
  };
}
