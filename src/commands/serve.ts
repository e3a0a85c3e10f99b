import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { Option } from '@commander-js/extra-typings';
import { type OpenWarehouse, openToRead, type Session } from '../compose.ts';
import { ConfigError } from '../errors.ts';
import { inPackage } from '../package.ts';
import { isLoopback } from '../server-guard.ts';
import { gathered, wholeNumber } from '../terminal/arguments.ts';
import { print, printData, printJson, printResult } from '../terminal/print.ts';
import { facts, number } from '../terminal/table.ts';
import type { Standby } from '../warehouse/standby.ts';
import { allEndpoints } from '../web/endpoints.ts';
import { writeReport } from '../web/report.ts';
import { serveWeb } from '../web/server.ts';
import { type Command, examples, gmsiCommand, type OptionsOf } from './command.ts';
import { standbyText } from './standby.ts';

const define = (serve: Command) =>
  serve
    .option('--host <address>', 'address to listen on; any but loopback needs GMSI_SERVE_TOKEN', '127.0.0.1')
    .option('--port <number>', 'port to listen on; 0 for any', wholeNumber({ to: 65_535 }), 8426)
    .option('--name <name>', 'host name that browsers use for this page; may be repeated', gathered)
    .addOption(
      new Option(
        '--html [file]',
        'write the page as one HTML file instead (default: gmsi-report.html); - for standard output',
      ).conflicts(['host', 'port', 'name']),
    )
    .addHelpText(
      'after',
      examples(
        'gmsi serve',
        'gmsi serve --host 0.0.0.0 --name data.example.com',
        'gmsi serve --html monday.html    to send or to keep',
      ),
    );

type ServeFlags = OptionsOf<typeof define>;

/**
 * `gmsi serve`: serves the page and its API until stopped; with `--html`, writes the page as it is now to one file. Sends no
 * request to the service.
 */
export const serve = gmsiCommand({ define, isReadable: true }, async (session, flags) => {
  if (flags.html !== undefined)
    return writeHtml(session, flags.html === true ? 'gmsi-report.html' : flags.html);
  if (session.config.serveToken === undefined && !isLoopback(flags.host)) {
    throw new ConfigError(`--host ${flags.host} admits other machines, but GMSI_SERVE_TOKEN is not set.`, {
      hint: 'Set it to a random token (openssl rand -hex 32), and use a TLS proxy on untrusted networks.',
    });
  }
  await using warehouse = await openToRead(session);
  return await serveUntilStopped(session, warehouse, flags);
});

async function writeHtml(session: Session, file: string): Promise<undefined> {
  await using warehouse = await openToRead(session);
  const report = await writeReport(warehouse.db, {
    endpoints: endpointsOf(session, warehouse),
    page: inPackage('dist/page'),
    warehouse: `${warehouse.description}${warehouse.standby ? ', a standby' : ''}`,
    at: warehouse.standby?.replayedTo ?? session.clock(),
  });
  if (file === '-') {
    printData(Buffer.from(report));
    return;
  }
  // It contains licensed data. An existing file keeps its mode.
  await writeFile(file, report, { mode: 0o600 }).catch((cause: Error) => {
    throw new ConfigError(`The report cannot be written to ${file}: ${cause.message}`, {
      cause,
      hint: '--html takes a file, or - for standard output.',
    });
  });
  const bytes = Buffer.byteLength(report);
  printResult(session, { file, bytes }, () => `Wrote ${file} (${number(Math.ceil(bytes / 1024))} kB).\n`);
}

function endpointsOf({ config, clock }: Session, { db }: OpenWarehouse) {
  const { leaseSeconds, apiKey } = config;
  return allEndpoints(db, { cwd: process.cwd(), leaseSeconds, apiKey, clock });
}

export async function serveUntilStopped(
  session: Session,
  warehouse: OpenWarehouse & { readonly standby?: Standby | undefined },
  { host, port, name: names = [] }: ServeFlags,
): Promise<undefined> {
  const { serveToken: token } = session.config;
  await using web = await serveWeb(warehouse.db, {
    host,
    port,
    names,
    token,
    page: inPackage('dist/page'),
    log: session.log,
    endpoints: endpointsOf(session, warehouse),
  });
  if (session.json) printJson({ url: web.url, pid: process.pid }, 0);
  else {
    const shown = facts([
      ['page', web.url],
      ['api', `${web.url}/api/openapi.json`],
      ['warehouse', warehouse.description],
      ['standby', standbyText(warehouse.standby)],
      ['token', token ? 'required (GMSI_SERVE_TOKEN)' : undefined],
    ]);
    print(`${shown}\n\nCtrl-C ends it.\n`);
  }
  if (!session.stop.aborted) await once(session.stop, 'abort');
}
