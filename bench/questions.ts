import { readFileSync } from 'node:fs';
import pg from 'pg';
import { print } from '../src/terminal/print.ts';
import { table } from '../src/terminal/table.ts';
import { describeFilled, fill, timed } from './fill.ts';
import { askPage } from './page.ts';
import type { BenchServer } from './server.ts';
import { median, thousands, type Verdict } from './statistics.ts';

const headlines = 10_000_000;
const rounds = 3;
/** Seconds that a question may take, by what it reads. */
const goals = { rollups: 1, 'raw table': 3 };

interface Question {
  /** The heading that it stands below. */
  readonly title: string;
  readonly text: string;
}

/** The questions of docs/analysis.md and those of the page, on ten million headlines. */
export async function benchQuestions(server: BenchServer): Promise<Verdict[]> {
  const url = await server.aWarehouse();
  describeFilled(await fill(url, headlines));
  return [...(await askQuestions(url)), ...(await askPage(url))];
}

/** Asks each question once to warm up, and then three times. */
export async function askQuestions(url: string): Promise<Verdict[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const measured: {
    question: Question;
    reads: keyof typeof goals;
    rows: number;
    cold: number;
    warm: number;
  }[] = [];
  for (const question of questions()) {
    let rows = 0;
    const ask = () =>
      timed(async () => {
        rows = (await client.query(question.text)).rowCount ?? 0;
      });
    const cold = await ask();
    const times: number[] = [];
    while (times.length < rounds) times.push(await ask());
    const reads = /gmsi\.headline(s|_revisions)/.test(question.text) ? 'raw table' : 'rollups';
    measured.push({ question, reads, rows, cold, warm: median(times) });
  }
  await client.end();
  print(
    `${table(
      ['question', 'reads', 'rows', 'first', 'then'],
      measured.map(({ question, reads, rows, cold, warm }) => [
        question.title,
        reads,
        rows,
        milliseconds(cold),
        milliseconds(warm),
      ]),
    )}\n`,
  );
  return measured.map(({ question, reads, warm }) => ({
    goal: `${question.title}: under ${goals[reads]} s`,
    measured: milliseconds(warm),
    met: warm < goals[reads],
  }));
}

/** The blocks marked `sql analysis`, and that of the table as it stood. */
function questions(): Question[] {
  const page = readFileSync(new URL('../docs/analysis.md', import.meta.url), 'utf8');
  return page.split(/^## /m).flatMap((section) => {
    const title = section.slice(0, section.indexOf('\n'));
    const found = section.matchAll(/^```sql (?:analysis|may-be-empty)\n([\s\S]*?)^```$/gm);
    return [...found].map(([, text]) => ({ title, text: text! }));
  });
}

function milliseconds(seconds: number): string {
  return `${thousands(seconds * 1000)} ms`;
}
