import { once } from 'node:events';
import { isIP } from 'node:net';
import { type OpenWarehouse, openWarehouse, type Session } from '../compose.ts';
import { ConfigError } from '../errors.ts';
import { exitCodes } from '../exit.ts';
import { inPackage } from '../package.ts';
import { print, printJson } from '../terminal/print.ts';
import { facts } from '../terminal/table.ts';
import { allEndpoints } from '../web/endpoints.ts';
import { serveWeb } from '../web/server.ts';

export interface ServeFlags {
  readonly host: string;
  readonly port: number;
  readonly name?: readonly string[];
}

/** `gmsi serve`: serves the page and its API until stopped. Sends no request to the service. */
export async function serveCommand(session: Session, flags: ServeFlags): Promise<number> {
  if (session.config.serveToken === undefined && !isLoopback(flags.host)) {
    throw new ConfigError(`--host ${flags.host} admits other machines, but GMSI_SERVE_TOKEN is not set.`, {
      hint: 'Set it to a random token (openssl rand -hex 32), and use a TLS proxy on untrusted networks.',
    });
  }
  await using warehouse = await openWarehouse(session);
  return await serveUntilStopped(session, warehouse, flags);
}

export async function serveUntilStopped(
  session: Session,
  { db, description }: OpenWarehouse,
  { host, port, name: names = [] }: ServeFlags,
): Promise<number> {
  const { serveToken: token, leaseSeconds, apiKey } = session.config;
  await using web = await serveWeb(db, {
    host,
    port,
    names,
    token,
    page: inPackage('dist/page'),
    log: session.log,
    endpoints: allEndpoints(db, { cwd: process.cwd(), leaseSeconds, apiKey, clock: session.clock }),
  });
  if (session.json) printJson({ url: web.url, pid: process.pid }, 0);
  else {
    const shown = facts([
      ['page', web.url],
      ['api', `${web.url}/api/openapi.json`],
      ['warehouse', description],
      ['token', token ? 'asked for (GMSI_SERVE_TOKEN)' : undefined],
    ]);
    print(`${shown}\n\nCtrl-C ends it.\n`);
  }
  if (!session.stop.aborted) await once(session.stop, 'abort');
  return exitCodes.done;
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));
}
