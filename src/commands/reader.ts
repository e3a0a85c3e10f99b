import { openWarehouse } from '../compose.ts';
import { ConfigError } from '../errors.ts';
import { exitCodes } from '../exit.ts';
import { inPackage } from '../package.ts';
import { print, printJson } from '../terminal/print.ts';
import { asTyped, facts } from '../terminal/table.ts';
import { placeOf } from '../warehouse/connect.ts';
import { makeReader } from '../warehouse/make-reader.ts';
import { type Command, examples, gmsiCommand } from './command.ts';

const define = (reader: Command) =>
  reader
    .argument('<name>', 'login name: lower-case letters, digits and _')
    .addHelpText('after', examples('gmsi reader analyst'));

/** `gmsi reader <name>`: creates a read-only login; its password is shown once and stored nowhere. */
export const reader = gmsiCommand({ define }, async (session, name) => {
  if (!/^(?!pg_|gmsi|(?:public|none)$)[a-z_][a-z0-9_]{0,62}$/.test(name))
    throw new ConfigError(`"${name}" cannot be the name of a login.`, {
      hint:
        'Use up to 63 lower-case letters, digits and _; do not begin with a digit, pg_ or gmsi. ' +
        'For example: gmsi reader analyst',
    });
  await using warehouse = await openWarehouse(session);
  const { password, isNew } = await makeReader(warehouse.db, name);
  const { host, port, database, sslmode, sslrootcert } = placeOf(warehouse.address);
  const parts = { host, port, database, user: name, password: password.reveal() };
  const address = addressOf(parts, { sslmode, sslrootcert });
  if (session.json) {
    printJson({ created: isNew, ...parts, sslmode: sslmode ?? null, address });
    return exitCodes.done;
  }
  const done = isNew ? 'created; can read only the schema gmsi' : 'has a new password';
  print(
    `${facts([
      ['login', `${name}: ${done}`],
      ['host', host],
      ['port', String(port)],
      ['database', database],
      ['password', `${parts.password} (shown only now)`],
      ['encryption', sslmode && `sslmode=${sslmode}`],
      ['address', address],
    ])}\n`,
  );
  if (session.config.warehouse.kind === 'embedded')
    print(
      '\nThe embedded server answers on this machine only, and stops a minute after the last command. To keep it running: ' +
        `${asTyped('serve')}, ${asTyped('work')}, or ${asTyped('psql --address')}. ` +
        'It keeps its port unless another program has taken it.\n',
    );
  print(`\nHow to connect: ${inPackage('docs/using.md')}\n`);
});

/** Returns an address as libpq reads it; a host that is a folder is the server's socket. */
function addressOf(
  {
    host,
    port,
    database,
    user,
    password,
  }: Record<'host' | 'database' | 'user' | 'password', string> & { port: number },
  tls: Readonly<Record<string, string | undefined>>,
): string {
  const isSocket = host.startsWith('/');
  const url = new URL(
    `postgresql://${user}:${password}@${isSocket ? 'localhost' : host.includes(':') ? `[${host}]` : host}:${port}/`,
  );
  url.pathname = `/${encodeURIComponent(database)}`;
  const settings = { ...(isSocket && { host }), ...tls };
  for (const [setting, value] of Object.entries(settings)) if (value) url.searchParams.set(setting, value);
  return url.href;
}
