import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { z } from 'zod';
import type { JobShown } from '../answer/answer.ts';
import { completeTo } from '../answer/complete-to.ts';
import type { briefingRow } from '../questions/briefing.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import { type Answer, answerOf, type Endpoint } from './endpoint.ts';

/** What the page asks for Briefing and Pipeline whatever is loaded. */
const asked = 'feeds series origin jobs causes checks requests moments briefing/rewritten'.split(' ');

/**
 * Returns the state of a warehouse as one HTML file that needs no server: the page, with the answers of Briefing and Pipeline. Its
 * title is a subject line.
 */
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
  // As the page chooses the day: the current one is not over.
  let to = '';
  for (const { feed, match_type, oldest, newest } of rowsOf<Feed>(answers['api/feeds']!)) {
    await ask('coverage', { feed, match_type, from: oldest, to: newest });
    await ask('coverage/missing', { feed });
    if (feed === 'gmsi-headlines' && newest > to) to = newest;
  }
  const yesterday = new Date(about.at.getTime() - 86_400_000).toISOString().slice(0, 10);
  if (to > yesterday) to = yesterday;
  const [move] = to ? rowsOf<Move>(await ask('briefing', { to })) : [];
  const title = titleOf(about.at, move, rowsOf<JobShown>(answers['api/jobs']!));
  return withoutFiles(
    about.page,
    title,
    JSON.stringify({ warehouse: about.warehouse, at: about.at, answers }),
  );
}

type Feed = Readonly<Record<'feed' | 'match_type' | 'oldest' | 'newest', string>>;
type Move = Pick<z.output<typeof briefingRow>, 'country' | 'topic' | 'change' | 'stories'>;

function rowsOf<Row>({ columns, rows }: Answer): Row[] {
  return rows.map((row) => Object.fromEntries(columns.map((name, at) => [name, row[at]])) as Row);
}

/** Writes a subject line: "GMSI briefing, 28 Nov 2026: US Market Stress +0.24; complete to 27 Nov". */
function titleOf(at: Date, move: Move | undefined, jobs: readonly JobShown[]): string {
  const written = (day: Date, year?: 'numeric') =>
    day.toLocaleDateString('en-GB', { day: 'numeric', month: 'short', year, timeZone: 'UTC' });
  const change = move?.change?.toFixed(2).replace('-', '−') ?? '';
  const moved = move?.stories
    ? `${move.country} ${move.topic} ${change.startsWith('−') ? '' : '+'}${change}`
    : 'nothing moved';
  const day = completeTo(jobs);
  const year = day?.slice(0, 4) === String(at.getUTCFullYear()) ? undefined : 'numeric';
  const complete = day ? `complete to ${written(new Date(day), year)}` : 'not complete';
  return `GMSI briefing, ${written(at, 'numeric')}: ${moved}; ${complete}`;
}

/** Returns the page with its script, its styles and a report inside it. Its policy allows these, and nothing else. */
async function withoutFiles(page: string, title: string, report: string): Promise<string> {
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
  const escaped = title.replace(/[&<]/g, (one) => (one === '&' ? '&amp;' : '&lt;'));
  return html
    .replace(/<title>.*<\/title>/, () => `<title>${escaped}</title>`)
    .replace(/<link rel="icon".*>/, () => `<meta http-equiv="Content-Security-Policy" content="${policy}">`)
    .replace(style, () => `<style>${styles}</style>`)
    .replace(
      script,
      () =>
        `<script type="application/json" id="report">${data}</script>\n    <script type="module">${code}</script>`,
    );
}
