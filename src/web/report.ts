import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Warehouse } from '../warehouse/connect.ts';
import { type Answer, answerOf, type Endpoint } from './endpoint.ts';

/** The exports of the page's part of a report. It is built with the page, which has other compiler settings. */
export interface ReportPage {
  renderReport(
    /** Queries an endpoint; moments in its answer are texts. */
    ask: (path: string, parameters: object) => Promise<Answer>,
    about: { readonly warehouse: string; readonly at: Date; readonly styles: string },
  ): Promise<string>;
}

/** Returns the state of a warehouse as one HTML file that needs no script and no server. */
export async function writeReport(
  warehouse: Warehouse,
  {
    endpoints,
    dist,
    ...about
  }: {
    readonly endpoints: readonly Endpoint[];
    /** The folder of the built page. */
    readonly dist: string;
    /** For a person, without a password. */
    readonly warehouse: string;
    readonly at: Date;
  },
): Promise<string> {
  const page: ReportPage = await import(pathToFileURL(join(dist, 'report', 'report.js')).href);
  const byPath = new Map(endpoints.map((one) => [one.path, one]));
  return page.renderReport(
    async (path, parameters) => {
      const one = byPath.get(path)!;
      const answer = await answerOf(warehouse, one, one.takes.parse(parameters));
      return JSON.parse(JSON.stringify(answer));
    },
    { ...about, styles: await stylesOf(join(dist, 'page', 'assets')) },
  );
}

async function stylesOf(folder: string): Promise<string> {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.css')).toSorted();
  const texts = await Promise.all(names.map((name) => readFile(join(folder, name), 'utf8')));
  return texts.join('\n');
}
