import { openWarehouse, type Session } from '../compose.ts';
import { ConfigError } from '../errors.ts';
import { inPackage } from '../package.ts';
import { printResult } from '../terminal/print.ts';
import { asTyped, facts } from '../terminal/table.ts';
import { placeOf } from '../warehouse/connect.ts';
import { makeReader } from '../warehouse/make-reader.ts';

/** `gmsi psql --reader <name>`: creates a read-only login; its password is shown once and stored nowhere. */
export async function createReader(session: Session, name: string): Promise<undefined> {
  if (!/^(?!pg_|gmsi|(?:public|none)$)[a-z_][a-z0-9_]{0,62}$/.test(name))
    throw new ConfigError(`"${name}" cannot be the name of a login.`, {
      hint:
        'Use up to 63 lower-case letters, digits and _; do not begin with a digit, pg_ or gmsi. ' +
        'For example: analyst.',
    });
  await using warehouse = await openWarehouse(session);
  const { password, isNew } = await makeReader(warehouse.db, name);
  const { host, port, database, sslmode, sslrootcert } = placeOf(warehouse.address);
  const parts = { host, port, database, user: name, password: password.reveal() };
  const address = addressOf(parts, { sslmode, sslrootcert });
  const document = { created: isNew, ...parts, sslmode: sslmode ?? null, address };
  printResult(session, document, () => {
    const shown = facts([
      ['login', `${name}: ${isNew ? 'created; can read only the schema gmsi' : 'has a new password'}`],
      ['host', host],
      ['port', String(port)],
      ['database', database],
      ['password', `${parts.password} (shown only now)`],
      ['encryption', sslmode && `sslmode=${sslmode}`],
      ['address', address],
    ]);
    const isEmbedded = session.config.warehouse.kind === 'embedded';
    return `${shown}\n\n${isEmbedded ? aboutEmbedded() : ''}How to connect: ${inPackage('docs/using.md')}\n`;
  });
}

function aboutEmbedded(): string {
  const servers = `${asTyped('serve')}, ${asTyped('work')}, or ${asTyped('psql --address')}`;
  return (
    'The embedded server answers on this machine only, and stops a minute after the last command. To keep it running: ' +
    `${servers}. It keeps its port unless another program has taken it.\n\n`
  );
}

/** Returns an address as libpq reads it; a host that is a folder is the server's socket. */
function addressOf(
  at: Record<'host' | 'database' | 'user' | 'password', string> & { port: number },
  tls: Readonly<Record<string, string | undefined>>,
): string {
  const { host, port, database } = at;
  const isSocket = host.startsWith('/');
  const shown = isSocket ? 'localhost' : host.includes(':') ? `[${host}]` : host;
  const url = new URL(`postgresql://${at.user}:${at.password}@${shown}:${port}/`);
  url.pathname = `/${encodeURIComponent(database)}`;
  const settings = { ...(isSocket && { host }), ...tls };
  for (const [setting, value] of Object.entries(settings)) if (value) url.searchParams.set(setting, value);
  return url.href;
}
