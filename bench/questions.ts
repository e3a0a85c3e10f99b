import { readFileSync } from 'node:fs';
import pg from 'pg';
import { print } from '../src/terminal/print.ts';
import { table } from '../src/terminal/table.ts';
import { makeReader } from '../src/warehouse/make-reader.ts';
import { describeFilled, fill, timed } from './fill.ts';
import { askPage } from './page.ts';
import { type BenchServer, open } from './server.ts';
import { median, thousands, type Verdict } from './statistics.ts';

const headlines = 10_000_000;
const rounds = 3;
/** Seconds that a question may take: most, and those about the whole history. */
const goals = { some: 1, all: 5 };

interface Question {
  readonly title: string;
  readonly text: string;
  readonly reads: keyof typeof goals;
}

/** The questions of docs/analysis.md and those of the page, on ten million headlines. */
export async function benchQuestions(server: BenchServer): Promise<Verdict[]> {
  const url = await server.aWarehouse();
  describeFilled(await fill(url, headlines));
  return [...(await askQuestions(url)), ...(await askPage(url))];
}

/** Asks each question once to warm up, and then three times, with the login and the settings of an analyst. */
export async function askQuestions(url: string): Promise<Verdict[]> {
  const db = open(url, 1);
  const { password } = await makeReader(db, 'bench_analyst');
  await db.destroy();
  const login = new URL(url);
  login.username = 'bench_analyst';
  login.password = password.reveal();
  const client = new pg.Client({ connectionString: login.href });
  await client.connect();
  const measured: { question: Question; rows: number; cold: number; warm: number }[] = [];
  try {
    for (const question of [...documented(), ...ofDesks]) {
      let rows = 0;
      const ask = () =>
        timed(async () => {
          rows = (await client.query(question.text)).rowCount ?? 0;
        });
      const cold = await ask();
      const times: number[] = [];
      while (times.length < rounds) times.push(await ask());
      measured.push({ question, rows, cold, warm: median(times) });
    }
  } finally {
    await client.end();
  }
  print(
    `${table(
      ['question', 'rows', 'first', 'then'],
      measured.map(({ question, rows, cold, warm }) => [
        question.title,
        rows,
        milliseconds(cold),
        milliseconds(warm),
      ]),
    )}\n`,
  );
  return measured.map(({ question: { title, reads }, warm }) => ({
    goal: `${title}: under ${goals[reads]} s`,
    measured: milliseconds(warm),
    met: warm < goals[reads],
  }));
}

/** What desks ask besides, mostly across countries. */
const ofDesks: readonly Question[] = Object.entries({
  'a topic in all countries, a quarter by day': `
    select * from gmsi.sentiment_by_day
    where topic = 'Inflation-Food' and match_type = 'COMBINED' and day between '2025-10-01' and '2025-12-31'`,
  'a topic in seven countries, ten years by month': `
    select country, date_trunc('month', day) as month, sum(directional_sum) / nullif(sum(directional_count), 0) as mean
    from gmsi.sentiment_by_day
    where topic = 'Inflation-Food' and country in ('US', 'GB', 'DE', 'FR', 'IT', 'JP', 'CA') and match_type = 'COMBINED' group by 1, 2`,
  'all topics of a country, last week against three months': `
    select topic, sum(sentiment_sum) filter (where day > '2025-12-24') / nullif(sum(headline_count) filter (where day > '2025-12-24'), 0) as week,
           sum(sentiment_sum) / nullif(sum(headline_count), 0) as quarter
    from gmsi.sentiment_daily
    where country = 'US' and match_type = 'COMBINED' and sentiment_type = 'directional' and day > '2025-10-02' group by 1`,
  'all series, last week against three months': `
    select country, topic, sum(sentiment_sum) filter (where day > '2025-12-24') / nullif(sum(headline_count) filter (where day > '2025-12-24'), 0) as week,
           sum(sentiment_sum) / nullif(sum(headline_count), 0) as quarter
    from gmsi.sentiment_daily
    where match_type = 'COMBINED' and sentiment_type = 'directional' and day > '2025-10-02' group by 1, 2`,
  'a topic in all countries, a year by hour of the day': `
    select extract(hour from hour) as hour, sum(headline_count) as headlines from gmsi.sentiment_hourly
    where country = any (array(select country from gmsi.countries)) and topic = 'Inflation-Food' and match_type = 'COMBINED'
      and sentiment_type = 'directional' and hour >= '2025-01-01 00:00+00' group by 1`,
  'all series, the last day': `
    select * from gmsi.sentiment_by_day where match_type = 'COMBINED' and day = '2025-12-31'`,
  'all series as known at a moment': `
    select * from gmsi.signals(array[timestamptz '2025-12-15 21:00+00'])`,
  'a topic in all countries as known at each close of a year': `
    select * from gmsi.signals(array(select generate_series(timestamptz '2025-01-01 21:00+00', '2025-12-31 21:00+00', interval '1 day')),
                               null, 'Inflation-Food')`,
  'a topic in all countries, each day of a year as known': `
    select * from gmsi.sentiment_daily_as_known('2025-01-01', '2025-12-31', null, 'Inflation-Food', delay => '1 hour')`,
  'a topic in all countries, each day of ten years as known': `
    select * from gmsi.sentiment_daily_as_known(null, null, null, 'Inflation-Food', delay => '1 hour')`,
}).map(([title, text]) => ({ title, text, reads: title.includes('ten years as known') ? 'all' : 'some' }));

/** The blocks of SQL for the warehouse, below their headings. */
function documented(): Question[] {
  return ['using', 'analysis'].flatMap((name) => {
    return pageOf(name)
      .split(/^##+ /m)
      .flatMap((section) => {
        const title = section.slice(0, section.indexOf('\n'));
        const found = section.matchAll(/^```sql(?: analysis| may-be-empty)?\n([\s\S]*?)^```$/gm);
        return [...found].map(([, text]): Question => ({ title, text: text!, reads: 'some' }));
      });
  });
}

function pageOf(name: string): string {
  return readFileSync(new URL(`../docs/${name}.md`, import.meta.url), 'utf8');
}

function milliseconds(seconds: number): string {
  return `${thousands(seconds * 1000)} ms`;
}
