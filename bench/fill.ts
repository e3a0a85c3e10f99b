import pg from 'pg';
import { pairOf } from '../packages/sandbox/src/generate/headlines-of-day.ts';
import { COUNTRIES } from '../packages/sandbox/src/world/countries.ts';
import { TOPICS } from '../packages/sandbox/src/world/topics.ts';
import { thousands } from './statistics.ts';
import { loadedWindows, windowsOf } from './windows.ts';

/** Ten years, whole months and whole windows; until the day on which the examples of docs/analysis.md end. */
export const filled = { from: '2016-01-01', to: '2025-12-31', months: 120 } as const;
const windowDays = 90;
/** Of these, the domestic and the international headlines are loaded besides all of them together. */
const apart = ['US', 'GB', 'DE', 'FR', 'IT', 'JP', 'CA'];
const connections = 2;

export interface Filled {
  readonly headlines: number;
  readonly revisions: number;
  readonly windows: number;
  /** Seconds that each step took. */
  readonly seconds: Readonly<Record<'headlines' | 'vacuum' | 'rollups', number>>;
}

/**
 * Fills a migrated, empty warehouse with made-up headlines of every pair of country and topic over ten years, as a
 * finished backfill leaves it: windows, covered days, 3% revised, 0.5% retracted. In SQL alone, and without a log of the
 * changes where the server keeps as little as it may (`wal_level = minimal`): the loader itself is measured elsewhere.
 */
export async function fill(url: string, headlines: number): Promise<Filled> {
  const clients = Array.from({ length: connections }, () => new pg.Client({ connectionString: url }));
  // If the server stops, because the disk is full, say, the statement under way tells why.
  for (const client of clients) client.on('error', () => {});
  await Promise.all(clients.map((client) => client.connect()));
  const client = clients[0]!;
  await listSeries(client);
  await client.query(ledger);
  await client.query(`select gmsi.ensure_month_partition('headlines', month::date)
    from generate_series(date '${filled.from}', date '${filled.to}', '1 month') as month`);
  await client.query('alter table gmsi.headlines disable trigger user');
  const months = Array.from({ length: filled.months }, (_, month) => month).values();
  const seconds = {
    headlines: await timed(() =>
      Promise.all(
        clients.map(async (one) => {
          for (const month of months) await fillMonth(one, month, Math.round(headlines / filled.months));
        }),
      ),
    ),
    vacuum: await timed(async () => {
      await client.query(
        'insert into gmsi.headline_revisions select * from bench_revisions order by country, topic, published_at',
      );
      await client.query('drop table bench_revisions, bench_series');
      await client.query('vacuum (freeze, analyze)');
    }),
    rollups: await timed(() => sumUp(client)),
  };
  await client.query('alter table gmsi.headlines enable trigger user');
  const { rows } = await client.query(counts);
  await Promise.all(clients.map((one) => one.end()));
  return { ...rows[0], seconds };
}

/** For a person. */
export function describeFilled({ headlines, revisions, windows, seconds }: Filled): void {
  console.log(
    `${thousands(headlines)} headlines, ${thousands(revisions)} revisions and ${thousands(windows)} windows, filled in ${thousands(seconds.headlines)} s,`,
    `vacuumed in ${thousands(seconds.vacuum)} s, summed up in ${thousands(seconds.rollups)} s`,
  );
}

/** Every series and how busy it is, as shares that add up to 1: as uneven as in the sandbox, where 4% have no news at all. */
async function listSeries(client: pg.Client): Promise<void> {
  const settings = { seed: 'demo', volume: 1, records: { hourShare: 0, missingScores: 0 } };
  const series = COUNTRIES.flatMap((country) =>
    TOPICS.flatMap((topic) => {
      const { volume } = pairOf(settings, country, topic);
      const one = (match_type: string, share: number) => ({
        country: country.code,
        topic: topic.name,
        match_type,
        busy: volume * share,
      });
      const split = apart.includes(country.code) ? [one('DOMESTIC', 0.55), one('INTERNATIONAL', 0.45)] : [];
      return [one('COMBINED', 1), ...split];
    }),
  );
  await client.query(
    `create unlogged table bench_series as
     select (row_number() over busiest)::int as series, s.*, sum(busy) over busiest / sum(busy) over () as up_to
     from jsonb_to_recordset($1) as s (country text, topic text, match_type text, busy float)
     window busiest as (order by country, topic, match_type)`,
    [JSON.stringify(series)],
  );
}

const windowsEach = windowsOf(filled, windowDays);

const ledger = `
  insert into gmsi.origin (served_by) values ('sandbox');
  insert into gmsi.countries (country) select distinct country from bench_series;
  insert into gmsi.topics (topic) select distinct topic from bench_series;
  insert into gmsi.loads (command, job, feed, finished_at, outcome, run_by)
    values ('backfill', 'bench', 'gmsi-headlines', now(), 'done', 'bench');
  ${loadedWindows(filled, windowDays)};
  create unlogged table bench_revisions (like gmsi.headline_revisions);
  analyze bench_series`;

/**
 * In the order in which a backfill that begins with the newest days writes: the series of a window backwards, each
 * forwards in time. What was there is emptied in the same transaction, for then there is nothing to log.
 */
async function fillMonth(client: pg.Client, month: number, headlines: number): Promise<void> {
  const begin = new Date(Date.UTC(2016, month, 1)).toISOString();
  const partition = `gmsi.headlines_${begin.slice(0, 7).replace('-', '_')}`;
  await client.query('begin');
  await client.query("set local work_mem = '256MB'");
  await client.query('select setseed($1)', [month / filled.months]);
  await client.query(`truncate only ${partition}`);
  await client.query(monthOf(partition), [begin, headlines]);
  await client.query(superseded(partition));
  await client.query('commit');
}

const monthOf = (partition: string) => `
  insert into ${partition} (
    headline_id, country, topic, match_type, published_at, headline, language, source, url, topic_probability,
    directional_positive, directional_neutral, directional_negative, directional_score,
    semantic_positive, semantic_neutral, semantic_negative, semantic_score, extra,
    first_seen_at, asked_at, changed_at, retracted_at, is_backfilled, load_id, window_id)
  select gen_random_uuid(), country, topic, match_type, published_at,
         (array['Fears grow over ', 'Hopes rise for ', 'Ministers argue about ', 'Markets look at ', 'What to expect of '])[1 + s.sign::int % 5]
           || lower(topic) || ' in ' || country || ', ' || to_char(s.size, 'FM90.0') || '% in the year, as analysts say',
         (array['en', 'de', 'fr', 'es', 'pt', 'ru', 'ja', 'ar'])[1 + s.sign::int % 8],
         (array['Daily Ledger', 'Evening Courier', 'Market Wire', 'The Observer', 'Borsa e Piazza'])[1 + s.size::int % 5],
         'https://news.example/' || lower(country) || '/' || published_at::date || '/' || lpad(s.sign::int::text, 12, '0'),
         round(s.topical::numeric, 4), d.low, round((d.high - d.low)::numeric, 4), round((1 - d.high)::numeric, 4), d.low - round((1 - d.high)::numeric, 4)::float,
         e.low, round((e.high - e.low)::numeric, 4), round((1 - e.high)::numeric, 4), e.low - round((1 - e.high)::numeric, 4)::float,
         jsonb_build_object('topic_name', topic, 'match_type', 'DOMESTIC', 'relevance_rank', s.sign::int % 100, 'places', array[country]),
         seen.at, seen.at, case when s.fate < 0.035 then seen.at + interval '14 days' else seen.at end,
         case when s.fate < 0.005 then seen.at + interval '14 days' end,
         published_at < timestamptz '${filled.to} 00:00+00' - interval '1 year', 1,
         (series - 1) * ${windowsEach} + (published_at::date - date '${filled.from}') / ${windowDays} + 1
  from (
    -- Hours around noon are the busiest.
    select $1::timestamptz + floor(random() * extract(day from $1::timestamptz + interval '1 month' - interval '1 day')) * interval '1 day'
             + floor((random() + random()) * 43200) * interval '1 second' as published_at,
           width_bucket(random(), (select array_agg(up_to order by series) from bench_series)) + 1 as series,
           random() * 1e9 as sign, random() * 12 as size, sqrt(random()) as topical, random() as fate,
           round(random()::numeric, 4)::float as d1, round(random()::numeric, 4)::float as d2,
           round(random()::numeric, 4)::float as e1, round(random()::numeric, 4)::float as e2
    from generate_series(1, $2)
  ) as s
  join bench_series using (series)
  cross join lateral (select least(d1, d2) as low, greatest(d1, d2) as high) as d
  cross join lateral (select least(e1, e2) as low, greatest(e1, e2) as high) as e
  -- The last year was watched as it happened; what is older came in one backfill at its beginning.
  cross join lateral (
    select greatest(published_at + random() * interval '1 hour', timestamptz '${filled.to} 00:00+00' - interval '1 year') as at
  ) as seen
  order by country desc, topic desc, match_type desc, published_at`;

/** The first version of each headline that has changed since: with other scores, or as it stood before it was retracted. */
const superseded = (partition: string) => `
  insert into bench_revisions (
    headline_id, country, topic, match_type, published_at, headline, language, source, url, topic_probability,
    directional_positive, directional_neutral, directional_negative, directional_score,
    semantic_positive, semantic_neutral, semantic_negative, semantic_score, extra,
    first_seen_at, asked_at, known_from, known_to, retracted_at, is_backfilled, load_id, window_id, reason)
  select headline_id, country, topic, match_type, published_at, headline, language, source, url, topic_probability,
         directional_negative, directional_neutral, directional_positive, -directional_score,
         semantic_negative, semantic_neutral, semantic_positive, -semantic_score, extra,
         first_seen_at, first_seen_at, first_seen_at, changed_at, null, is_backfilled, load_id, window_id,
         case when retracted_at is null then 'rescored' else 'retracted' end
  from ${partition} where changed_at > first_seen_at`;

/**
 * The same sums as gmsi.roll_up, but of all series in one pass, which a warehouse in use could not wait for: written in
 * the order of the key, and without a log.
 */
export async function sumUp(client: pg.Client): Promise<void> {
  for (const [name, sums] of Object.entries({ hourly_sums: hourly, daily_sums: daily })) {
    await client.query('begin');
    await client.query("set local work_mem = '512MB'");
    await client.query(`truncate gmsi.${name}`);
    await client.query(`insert into gmsi.${name} (
        country, topic, match_type, sentiment_type, ${name === 'hourly_sums' ? 'hour' : 'day'},
        all_count, headline_count, sentiment_sum, sentiment_abs_sum, sentiment_std, probability_sum, weighted_sum) ${sums}`);
    await client.query('commit');
    await client.query(`vacuum (freeze, analyze) gmsi.${name}`);
  }
}

const hourly = `
  select country, topic, match_type, model, date_trunc('hour', published_at, 'UTC'), count(*), count(score),
         sum(score order by published_at, headline_id), sum(abs(score) order by published_at, headline_id),
         stddev_pop(score order by published_at, headline_id), sum(topic_probability order by published_at, headline_id),
         sum(score * topic_probability order by published_at, headline_id)
  from gmsi.headlines
  cross join lateral (values ('directional', directional_score), ('semantic_sentiment', semantic_score)) as m (model, score)
  where retracted_at is null
  group by 1, 2, 3, 4, 5 order by 1, 2, 3, 4, 5`;

const daily = `
  select country, topic, match_type, sentiment_type, day, sum(all_count), day_count, day_sum, sum(sentiment_abs_sum order by hour),
         sqrt(sum(headline_count * (sentiment_std ^ 2 + (sentiment_mean - day_sum / day_count) ^ 2) order by hour) / day_count),
         sum(probability_sum order by hour), sum(weighted_sum order by hour)
  from (
    select *, sum(headline_count) over whole_day as day_count, sum(sentiment_sum) over whole_day as day_sum
    from (select *, (hour at time zone 'UTC')::date as day from gmsi.hourly_sums) as hourly
    window whole_day as (partition by country, topic, match_type, sentiment_type, day order by hour
                         rows between unbounded preceding and unbounded following)
  ) as hours
  group by 1, 2, 3, 4, 5, day_count, day_sum order by 1, 2, 3, 4, 5`;

const counts = `
  select (select count(*) from gmsi.headlines)::int as headlines, (select count(*) from gmsi.headline_revisions)::int as revisions,
         (select count(*) from gmsi.windows)::int as windows`;

/** @returns seconds */
export async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return (performance.now() - startedAt) / 1000;
}
