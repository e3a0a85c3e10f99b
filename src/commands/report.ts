import { writeFile } from 'node:fs/promises';
import { openWarehouse, type Session } from '../compose.ts';
import { ConfigError } from '../errors.ts';
import { exitCodes } from '../exit.ts';
import { inPackage } from '../package.ts';
import { print, printData, printJson } from '../terminal/print.ts';
import { nextStep, number } from '../terminal/table.ts';
import { allEndpoints } from '../web/endpoints.ts';
import { writeReport } from '../web/report.ts';

/** `gmsi report`: writes the current state as one HTML file; sends no request. @param options the file; `-` for standard output */
export async function reportCommand(
  session: Session,
  options: { readonly html?: string | true },
): Promise<number> {
  const html = typeof options.html === 'string' ? options.html : 'gmsi-report.html';
  await using warehouse = await openWarehouse(session);
  const { leaseSeconds, apiKey } = session.config;
  const report = await writeReport(warehouse.db, {
    endpoints: allEndpoints(warehouse.db, { cwd: process.cwd(), leaseSeconds, apiKey, clock: session.clock }),
    dist: inPackage('dist'),
    warehouse: warehouse.description,
    at: session.clock(),
  });
  if (html === '-') {
    printData(Buffer.from(report));
    return exitCodes.done;
  }
  await writeFile(html, report).catch((cause: Error) => {
    throw new ConfigError(`The report cannot be written to ${html}: ${cause.message}`, {
      cause,
      hint: '--html takes a file, or - for standard output.',
    });
  });
  const bytes = Buffer.byteLength(report);
  if (session.json) printJson({ file: html, bytes });
  else
    print(
      `${html} (${number(Math.ceil(bytes / 1024))} kB) opens in any browser, without this program.\n${nextStep('serve')}`,
    );
  return exitCodes.done;
}
