import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { OpenWarehouse } from '../compose.ts';
import { openPool } from '../warehouse/connect.ts';
import { type Finding, finding } from './doctor-findings.ts';

/** Whether others on the way to the warehouse could read along. As this end of the connection sees it: a pooler may answer. */
export async function checkEncryption(reached: () => OpenWarehouse): Promise<Finding> {
  let fix: string | undefined;
  const line = await finding('encryption', async () => {
    const pool = openPool(reached().address, 1);
    try {
      const client = await pool.connect();
      const told = describe(
        (client as unknown as { connection: { stream: Socket | TLSSocket } }).connection.stream,
      );
      client.release();
      fix = told.fix;
      return told.found;
    } finally {
      await pool.end();
    }
  });
  return { ...line, ...(fix && { fix }) };
}

function describe(stream: Socket | TLSSocket): Pick<Finding, 'found' | 'fix'> {
  if ('encrypted' in stream) {
    const who = stream.authorized
      ? 'with a trusted certificate'
      : 'without asking who answers (sslmode=verify-full does)';
    return { found: `${stream.getProtocol()}, ${who}` };
  }
  const { remoteAddress } = stream;
  if (remoteAddress === undefined) return { found: 'none needed: a socket of this machine' };
  if (/^(127\.|::1$|::ffff:127\.)/.test(remoteAddress)) return { found: 'none needed: this machine itself' };
  return {
    found: `none: whoever is on the way to ${remoteAddress} can read the password's exchange and the data`,
    fix: 'Add ?sslmode=verify-full to DATABASE_URL (docs/operating.md, "The database").',
  };
}
