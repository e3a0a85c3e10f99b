import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Warehouse } from '../warehouse/connect.ts';
import { type Answer, answerOf, type Endpoint } from './endpoint.ts';

/** What the page asks for Today, beside its loads; Coverage asks for each feed as well. */
const asked = 'feeds series origin jobs causes checks arrival requests'.split(' ');

/** Returns the state of a warehouse as one HTML file that needs no server: the page, with the answers of Today and Coverage. */
export async function writeReport(
  warehouse: Warehouse,
  about: {
    readonly endpoints: readonly Endpoint[];
    /** The folder of the built page. */
    readonly page: string;
    /** For a person, without a password. */
    readonly warehouse: string;
    readonly at: Date;
  },
): Promise<string> {
  const answers: Record<string, Answer> = {};
  const ask = async (path: string, parameters: Readonly<Record<string, string>> = {}) => {
    const one = about.endpoints.find((endpoint) => endpoint.path === path)!;
    const query = new URLSearchParams(parameters);
    const answer = await answerOf(warehouse, one, one.takes.parse(parameters));
    answers[`api/${path}${query.size > 0 ? `?${query}` : ''}`] = answer;
    return answer;
  };
  for (const path of asked) await ask(path);
  await ask('loads', { limit: '50' });
  const { columns, rows } = answers['api/feeds']!;
  for (const row of rows) {
    const { feed, match_type, oldest, newest } = Object.fromEntries(
      columns.map((name, at) => [name, row[at]]),
    );
    await ask('coverage', { feed, match_type, from: oldest, to: newest } as Record<string, string>);
  }
  return withoutFiles(about.page, JSON.stringify({ warehouse: about.warehouse, at: about.at, answers }));
}

/** Returns the page with its script, its styles and a report inside it. Its policy allows these, and nothing else. */
async function withoutFiles(page: string, report: string): Promise<string> {
  const html = await readFile(join(page, 'index.html'), 'utf8');
  const read = async (pattern: RegExp) => readFile(join(page, pattern.exec(html)![1]!), 'utf8');
  const [script, style] = [
    /<script[^>]* src="(.*?)"><\/script>/,
    /<link rel="stylesheet"[^>]* href="(.*?)">/,
  ];
  // No text of it can end the element that it is in.
  const code = (await read(script)).replaceAll('</script', String.raw`<\/script`);
  const styles = await read(style);
  const hash = (text: string) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
  const policy = `default-src 'none'; script-src ${hash(code)}; style-src ${hash(styles)}`;
  const data = report.replaceAll('<', String.raw`\u003c`);
  return html
    .replace(/<link rel="icon".*>/, () => `<meta http-equiv="Content-Security-Policy" content="${policy}">`)
    .replace(style, () => `<style>${styles}</style>`)
    .replace(
      script,
      () =>
        `<script type="application/json" id="report">${data}</script>\n    <script type="module">${code}</script>`,
    );
}
