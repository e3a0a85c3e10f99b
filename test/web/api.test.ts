import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type Sandbox, startSandbox } from '#sandbox';
import { indexFeeds } from '../../src/questions/indices.ts';
import { exactTime } from '../../src/warehouse/exact-time.ts';
import { keepCheckResults } from '../../src/warehouse/tables/check-results.ts';
import { type Endpoint, endpoint } from '../../src/web/endpoint.ts';
import { aJobOf } from '../feeds/cases.ts';
import { aWarehouseForAll } from '../support/for-all.ts';
import { isMoved } from '../support/moved-time.ts';
import { aJob, runBackfill, usualClock } from '../support/run-backfill.ts';
import { anEmptyDatabase } from '../support/test-warehouse.ts';
import { ageWindowsIn, aWindowIn, forgetWindowsIn, sqlIn, windowsOf } from '../support/warehouse-state.ts';
import { aPage } from './a-page.ts';

const period = { start_date: '2026-10-01', end_date: '2026-10-31' };
const days = 'from=2026-10-01&to=2026-10-31';
const job = aJob({ ...period, step: 'P10D', service: { max_attempts: 1 } });
const series = 'country=US&topic=Inflation-Food';

const warehouse = await aWarehouseForAll();
const run = sqlIn(warehouse.db);
let sandbox: Sandbox;
let page: Awaited<ReturnType<typeof aPage>>;

beforeAll(async () => {
  // One window fails, so that not all is covered.
  const match = ({ path, query }: { path: string; query: Readonly<Record<string, string>> }) =>
    path.endsWith('/NO') && Object.values(query).includes('Inflation-Food');
  sandbox = await startSandbox({
    limits: null,
    volume: 0.5,
    clock: usualClock,
    faults: { script: [{ kind: 'server-error', times: 1, match }] },
  });
  await runBackfill({ job, db: warehouse.db, sandbox });
  for (const feed of [...indexFeeds, 'ticker-events', 'ticker-headlines', 'ticker-event-headlines'] as const)
    await runBackfill({ job: aJobOf(feed, period), db: warehouse.db, sandbox });
  const check = {
    job: 'test',
    check_name: 'gaps',
    title: 'Every settled day is loaded',
    severity: 'warn',
  } as const;
  await keepCheckResults(
    warehouse.db,
    [{ ...check, result: 'warned', findings: 3, known: 0, reason: null }],
    true,
  );
  page = await aPage(warehouse.db);
  await mkdir(join(page.folder, 'jobs'));
  await writeFile(
    join(page.folder, 'jobs', 'mine.yaml'),
    JSON.stringify({ feed: 'gmsi-headlines', countries: ['US'], topics: ['Inflation-Food'], ...period }),
  );
  await writeFile(join(page.folder, 'jobs', 'broken.yaml'), 'countries: [US');
  await writeFile(
    join(page.folder, 'jobs', 'unknown.yaml'),
    JSON.stringify({ feed: 'gmsi-headlines', countries: ['XX'], topics: ['Inflation-Food'], ...period }),
  );
});

afterAll(async () => {
  await page?.[Symbol.asyncDispose]();
  await sandbox?.stop();
});

interface Answer {
  readonly columns: string[];
  readonly rows: unknown[][];
}

const get = (path: string, init?: RequestInit) => fetch(`${page.url}/api/${path}`, init);

async function rowsOf(path: string): Promise<Record<string, unknown>[]> {
  const response = await get(path);
  expect(response.status, await response.clone().text()).toBe(200);
  const { columns, rows } = (await response.json()) as Answer;
  return rows.map((cells) => Object.fromEntries(columns.map((column, index) => [column, cells[index]])));
}

/** A question for each endpoint that this warehouse has an answer to. */
const questions: Readonly<Record<string, string>> = {
  feeds: '',
  series: '',
  origin: '',
  jobs: '',
  causes: '',
  loads: 'limit=5',
  checks: '',
  requests: 'month=2026-11',
  'loads/rescorings': days,
  'loads/known': 'feed=gmsi-headlines',
  moments: '',
  'series/fullest': 'feed=gmsi-headlines&limit=2',
  coverage: `feed=gmsi-headlines&match_type=COMBINED&${days}`,
  'coverage/days': `feed=gmsi-headlines&match_type=COMBINED&${series}&${days}`,
  sentiment: `${series}&${days}&by=hour`,
  'feeds/subjects': 'feed=regional-index',
  index: `feed=ticker-index&subject=BTC_CRY&${days}&by=week`,
  news: `subject=BTC_CRY&${days}`,
  'topics/rules': 'topic=Inflation-Food',
  'coverage/missing': 'feed=gmsi-headlines',
  briefing: 'to=2026-10-20',
  'briefing/rewritten': '',
  'sentiment/changes': 'from=2026-10-20&to=2026-10-20',
  'sentiment/changes/stories': `${series}&from=2026-10-11&to=2026-10-20&against=before`,
  headlines: `${series}&from=2026-10-01T00:00:00Z&to=2026-11-01T00:00:00Z&limit=7`,
};

async function aHeadline() {
  const [{ published_at, headline_id }] = (await rowsOf(`headlines?${questions.headlines}`)) as [
    Record<string, string>,
  ];
  return new URLSearchParams({
    country: 'US',
    topic: 'Inflation-Food',
    published_at: published_at!,
    headline_id: headline_id!,
  });
}

const ofOctober = sql`country = 'US' and topic = 'Inflation-Food' and match_type = 'COMBINED'
  and published_at >= '2026-10-01 00:00+00' and published_at < '2026-11-01 00:00+00' and retracted_at is null`;

describe('the API', () => {
  it('has a question in this test for each of its endpoints', () => {
    const asked = [...Object.keys(questions), 'headlines/versions'];
    expect(page.endpoints.map(({ path }) => path).toSorted()).toEqual(asked.toSorted());
  });

  it.each([...Object.keys(questions), 'headlines/versions'])(
    '%s answers rows as its description says, and the same as CSV',
    async (path) => {
      const query = questions[path] ?? String(await aHeadline());
      const { row }: Endpoint = page.endpoints.find((one) => one.path === path)!;
      const rows = await rowsOf(`${path}?${query}`);
      // Nothing works for the warehouse here, and nothing is wrong with it.
      const mayBeEmpty = ['requests', 'loads/rescorings', 'moments'].includes(path);
      expect(rows.length).toBeGreaterThanOrEqual(mayBeEmpty ? 0 : 1);
      for (const one of rows) {
        const withMoments = Object.entries(one).map(([column, value]) => {
          const kind = row.shape[column]!;
          const isMoment =
            kind instanceof z.ZodDate ||
            (kind instanceof z.ZodNullable && kind.unwrap() instanceof z.ZodDate);
          return [column, isMoment && value !== null ? new Date(value as string) : value];
        });
        expect(row.strict().safeParse(Object.fromEntries(withMoments)).error).toBeUndefined();
      }
      const csv = await (await get(`${path}.csv?${query}`)).text();
      expect(csv.split('\n')[0]).toBe(Object.keys(row.shape).join(','));
      // Texts of several lines would count more; there are none here.
      expect(csv.trimEnd().split('\n')).toHaveLength(rows.length + 1);
    },
  );

  it.each(Object.keys(questions).filter((path) => path !== 'jobs' && path !== 'causes'))(
    '%s shows SQL that gives the same rows in psql',
    async (path) => {
      const shown = await (await get(`${path}.sql?${questions[path]}`)).text();
      const { rows } = await sql.raw(shown.trim().replace(/;$/, '')).execute(warehouse.db);
      const answered = (await (await get(`${path}?${questions[path]}`)).json()) as Answer;
      expect(JSON.parse(JSON.stringify(rows))).toEqual(
        answered.rows.map((cells) =>
          Object.fromEntries(answered.columns.map((column, index) => [column, cells[index]])),
        ),
      );
    },
  );

  it('counts each day of a series once, by what became of it', async () => {
    const rows = await rowsOf(`coverage?${questions.coverage}`);
    const failed = rows.find(({ country, topic }) => country === 'NO' && topic === 'Inflation-Food')!;
    expect(failed).toMatchObject({
      covered: 21,
      refused: 0,
      failed: 10,
      running: 0,
      pending: 0,
      settling: 0,
    });
    expect(rows.find(({ country }) => country === 'US')).toMatchObject({ covered: 31, refused: 0 });
    expect(rows).toHaveLength(4);
  });

  it('never shows a token, even of a window that is half drained', async () => {
    const half = { state: 'pending', pages: 1, next_token: 'a-token-of-the-key' };
    await aWindowIn(warehouse.db, '2026-10-01', '2026-10-10', half);
    for (const [path, query] of Object.entries(questions)) {
      const text = await (await get(`${path}?${query}`)).text();
      expect(text).not.toContain('a-token-of-the-key');
    }
    await forgetWindowsIn(warehouse.db, { state: 'pending' });
  });

  it('shows the jobs of the folder, and what is wrong with the others', async () => {
    const rows = await rowsOf('jobs');
    expect(rows.find(({ job }) => job === 'mine')).toMatchObject({
      series: 1,
      complete: 1,
      complete_to: '2026-10-31',
      covered: 31,
      wanted: 31,
      // The job that loaded its days has another name.
      last_load_at: null,
      backfill_requests: null,
      failed: 0,
      state: 'good',
      why: null,
    });
    const failing = rows.filter(({ state }) => state === 'failing').map(({ job, why }) => [job, why]);
    expect(failing).toEqual([
      ['broken', 'cannot be read'],
      ['unknown', 'cannot run'],
    ]);
    expect((await rowsOf('causes')).slice(0, 2)).toMatchObject([
      { code: 'job file', job: 'broken', command: 'gmsi plan broken', requests: 0 },
      { code: 'unknown name', job: 'unknown', command: 'gmsi plan unknown', requests: 0 },
    ]);
  });

  it.each(indexFeeds)('answers all subjects of %s with all that they counted', async (feed) => {
    let counted = 0;
    for (const { subject } of await rowsOf(`feeds/subjects?feed=${feed}`)) {
      const points = await rowsOf(
        `index?feed=${feed}&subject=${encodeURIComponent(String(subject))}&${days}`,
      );
      for (const { count } of points) counted += Number(count);
    }
    const count = sql.ref(feed === 'ticker-event-metrics' ? 'event_count' : 'headline_count');
    const rows = await run<{ counted: number }>`
      select sum(${count})::int as counted from ${sql.table(`gmsi.${feed.replaceAll('-', '_')}`)}
      where published_at < '2026-11-01 00:00+00'`;
    expect(counted).toBe(rows[0]!.counted);
    expect(counted).toBeGreaterThan(0);
  });

  it.each(indexFeeds)('has the sums of %s, now and as of a moment', async (feed) => {
    const [{ subject }] = (await rowsOf(`feeds/subjects?feed=${feed}`)) as [Record<string, unknown>];
    const index = (more = '') =>
      rowsOf(`index?feed=${feed}&subject=${encodeURIComponent(String(subject))}&${days}&by=month${more}`);
    const before = await index();
    for (const { mean, sum, count } of before) expect(mean).toBeCloseTo(Number(sum) / Number(count), 9);
    const [then] = await run<{
      at: string;
    }>`select ${exactTime('now')} as at from (select clock_timestamp() as now) as clock`;
    await run`update ${sql.table(`gmsi.${feed.replaceAll('-', '_')}`)} set sentiment_sum = sentiment_sum + 1, changed_at = clock_timestamp()`;
    const sums = (rows: typeof before) => rows.map(({ sum }) => Number(sum).toFixed(6));
    expect(sums(await index(`&as_of=${then!.at}`))).toEqual(sums(before));
    expect(sums(await index())).not.toEqual(sums(before));
    expect(await index('&as_of=2020-01-01T00:00:00Z')).toEqual([]);
  });

  it('says of each job what its last days are, and which days of the feed are missing, why, at what cost', async () => {
    const jobs = await rowsOf('jobs');
    expect(jobs.find(({ job }) => job === 'mine')!.recent).toBe('covered 31');
    expect(jobs.find(({ job }) => job === 'unknown')!.recent).toBeNull();
    const [missing, ...others] = await rowsOf('coverage/missing?feed=gmsi-headlines');
    expect(missing).toMatchObject({
      ...{ state: 'failed', cause: 'temporary', says: expect.stringContaining('/NO') },
      ...{ series: 1, example: 'NO Inflation-Food', requests: 1 },
    });
    expect(Date.parse(String(missing!.to)) - Date.parse(String(missing!.from))).toBe(9 * 86_400_000);
    expect(others).toEqual([]);
    const both = { feed: 'gmsi-headlines', countries: ['US', 'NO'], topics: ['Inflation-Food'], ...period };
    await writeFile(join(page.folder, 'jobs', 'mine.yaml'), JSON.stringify(both));
    const strip = String((await rowsOf('jobs')).find(({ job }) => job === 'mine')!.recent);
    expect(strip.split(', ').toSorted()).toEqual(['covered 21', 'partial 10']);
    // Days that its history limit leaves out are not of the job.
    const limited = { start_date: '2026-09-01', history_limit: '2026-10-01' };
    await writeFile(
      join(page.folder, 'jobs', 'mine.yaml'),
      JSON.stringify({ ...both, countries: ['US'], ...limited }),
    );
    expect((await rowsOf('jobs')).find(({ job }) => job === 'mine')!.recent).toBe('covered 31');
    await writeFile(join(page.folder, 'jobs', 'mine.yaml'), JSON.stringify({ ...both, countries: ['US'] }));
  });

  it('says what a backfill of a job that was loaded costs, and counts recent days as not missing', async () => {
    const file = (name: string, of: object) =>
      writeFile(
        join(page.folder, 'jobs', `${name}.yaml`),
        JSON.stringify({
          feed: 'gmsi-headlines',
          countries: ['US', 'NO'],
          topics: ['Inflation-Food'],
          ...of,
        }),
      );
    await file('test', { ...period, step: 'P10D' });
    // It is 2026-11-20 for the server, and no day after October is loaded.
    await file('settling', { start_date: '2026-10-01', lookback: 'P20D' });
    const rows = await rowsOf('jobs');
    const named = (name: string) => rows.find(({ job }) => job === name)!;
    expect(named('test')).toMatchObject({
      complete: 1,
      complete_to: '2026-10-21',
      failed: 1,
      backfill_requests: 1,
    });
    expect(named('test').last_load_at).not.toBeNull();
    expect(named('settling')).toMatchObject({ complete: 1, complete_to: '2026-10-21' });
  });

  it('counts failed windows of one cause once for all series', async () => {
    const failures = async () =>
      (await rowsOf('causes')).filter(({ job, windows }) => job === 'test' && windows !== null);
    const failed = await failures();
    expect(failed).toMatchObject([{ job: 'test', code: 'temporary', what: '1 window failed' }]);
    const says = String(failed[0]!.why);
    const { load_id } = (await windowsOf(warehouse.db)).find(({ state }) => state === 'failed')!;
    for (const topic of ['Inflation-Food', 'Governance/Corruption']) {
      const failedFor = (last_error: string, cause: string) => ({
        topic,
        load_id,
        state: 'failed',
        last_error,
        cause,
      });
      await aWindowIn(
        warehouse.db,
        '2026-10-01',
        '2026-10-10',
        failedFor(says.replace('/NO', '/US'), 'temporary'),
      );
      await aWindowIn(warehouse.db, '2026-10-31', '2026-10-31', failedFor('No cursor', 'cursor'));
    }
    expect((await failures()).map(({ code, windows }) => [code, windows])).toEqual([
      ['temporary', 2],
      ['cursor', 1],
    ]);
    await forgetWindowsIn(warehouse.db, { state: 'failed', country: 'US' });
  });

  it('pages through headlines without losing or repeating one', async () => {
    // Times that differ by microseconds, and equal ones.
    await run`
      update gmsi.headlines set published_at = date_trunc('hour', published_at) + (ascii(headline_id::text) % 3) * interval '1 microsecond'
      where country = 'US' and topic = 'Inflation-Food' and published_at between '2026-10-05' and '2026-10-08'
    `;
    const of = `${series}&from=2026-10-05T00:00:00Z&to=2026-10-08T00:00:00Z`;
    const all = (await rowsOf(`headlines?${of}&limit=1000`)).map(({ headline_id }) => headline_id);
    const paged: unknown[] = [];
    for (let after = ''; ; ) {
      const rows = await rowsOf(`headlines?${of}&limit=7${after}`);
      paged.push(...rows.map(({ headline_id }) => headline_id));
      if (rows.length < 7) break;
      const { published_at, headline_id } = rows.at(-1)!;
      after = `&after_time=${published_at}&after_id=${headline_id}`;
    }
    expect(all.length).toBeGreaterThan(14);
    expect(paged).toEqual(all);
  });

  it('finds headlines by their words or source, in capitals or not', async () => {
    const of = `${series}&from=2026-10-01T00:00:00Z&to=2026-11-01T00:00:00Z`;
    const all = await rowsOf(`headlines?${of}&limit=1000`);
    const { headline, source } = all[0]!;
    for (const find of [String(headline).slice(3, 20).toUpperCase(), String(source).toLowerCase()]) {
      const isFound = (row: Record<string, unknown>) =>
        `${row.headline} ${row.source}`.toLowerCase().includes(find.toLowerCase());
      const found = await rowsOf(`headlines?${of}&limit=1000&find=${encodeURIComponent(find)}`);
      expect(found).toEqual(all.filter(isFound));
    }
    expect(await rowsOf(`headlines?${of}&find=100%25_`)).toEqual([]);
  });

  it('shows what was known at a moment: nothing before the load, all after it', async () => {
    const asOf = (moment: string) => rowsOf(`sentiment?${series}&${days}&by=week&as_of=${moment}`);
    const before = await asOf('2020-01-01T00:00:00Z');
    expect(before).toHaveLength(5);
    for (const row of before) expect(row).toMatchObject({ state: 'not loaded', all_count: null });
    const now = await rowsOf(`sentiment?${series}&${days}&by=week`);
    const later = new Date().toISOString();
    const known = await asOf(later);
    await run`insert into gmsi.moments (name, at, taken_by) values ('later', ${later}, 'test')`;
    expect(await asOf('later')).toEqual(known);
    expect(await rowsOf('moments')).toEqual([{ name: 'later', at: later.replace('Z', '000Z'), note: null }]);
    const counts = (rows: typeof now) => rows.map(({ at, state, all_count }) => [at, state, all_count]);
    expect(counts(known)).toEqual(counts(now));
    for (const [index, { directional }] of known.entries())
      expect(directional).toBeCloseTo(now[index]!.directional as number, 12);
  });

  it.each(indexFeeds)('has the covered days of a subject of %s', async (feed) => {
    const [first] = await rowsOf(`feeds/subjects?feed=${feed}`);
    const of = `feed=${feed}&subject=${encodeURIComponent(String(first!.subject))}&${days}`;
    const covered = await rowsOf(`coverage/days?${of}`);
    expect(covered.length).toBeGreaterThan(0);
    for (const { country, ticker } of covered)
      expect(['', first!.subject]).toContain(String(country) || ticker);
    expect(await rowsOf(`coverage/days?feed=gmsi-headlines&subject=XX&${days}`)).toEqual([]);
  });

  it('counts days as covered of a past moment if their windows had been drained then', async () => {
    const path = `coverage/days?${questions['coverage/days']}`;
    const covered = await rowsOf(path);
    expect(covered.length).toBeGreaterThan(0);
    expect(await rowsOf(`${path}&as_of=2020-01-01T00:00:00Z`)).toEqual([]);
    const later = new Date().toISOString();
    expect(await rowsOf(`${path}&as_of=${later}`)).toEqual(covered);
    expect(await rowsOf(`${path}&as_of=later`)).toEqual(covered);
    const last = { country: 'US', topic: 'Inflation-Food', last_day: '2026-10-31' };
    await ageWindowsIn(warehouse.db, '-80 years', last);
    const [then] = await rowsOf(`${path}&as_of=${later}`);
    expect(then).toMatchObject({ first_day: '2026-10-01' });
    expect(then!.last_day).not.toBe(covered[0]!.last_day);
    const byDay = await rowsOf(`sentiment?${series}&${days}&as_of=${later}`);
    for (const { at, state } of byDay)
      expect(state).toBe(String(at) <= String(then!.last_day) ? 'covered' : 'partial');
    await ageWindowsIn(warehouse.db, '80 years', last);
  });

  it('counts all headlines, with or without a score, now and as of a moment', async () => {
    await run`
      update gmsi.headlines set directional_score = null, changed_at = clock_timestamp()
      where ${ofOctober} and headline_id = (select min(headline_id::text)::uuid from gmsi.headlines where ${ofOctober})
    `;
    const { rows } = await sql<{ all_count: number; scored: number }>`
      select count(*)::int as all_count, greatest(count(directional_score), count(semantic_score))::int as scored
      from gmsi.headlines where ${ofOctober}`.execute(warehouse.db);
    const { all_count, scored } = rows[0]!;
    expect(scored).toBeLessThan(all_count);
    const asked = `sentiment?${series}&${days}&by=month`;
    expect(await rowsOf(asked)).toMatchObject([{ all_count }]);
    const later = new Date().toISOString();
    expect(await rowsOf(`${asked}&as_of=${later}`)).toMatchObject([{ all_count }]);
  });

  it('has each day of each series as gmsi.sentiment_by_day has it, also days without news and days that are not loaded', async () => {
    const cover = (covered: string) => sql`
      update gmsi.series_days set covered = ${covered}
      where series_id in (select series_id from gmsi.series where feed = 'gmsi-headlines' and country = 'US')`;
    await cover('{[2026-10-01,2026-10-30)}').execute(warehouse.db);
    try {
      const rows = await rowsOf(
        'sentiment?country=US&country=NO&country=NO&country=XX&topic=Inflation-Food&topic=Governance/Corruption&from=2026-09-30&to=2026-11-02',
      );
      expect(rows).toHaveLength(3 * 2 * 34);
      const view = await run<Record<string, unknown>>`
        select country, topic, day::text as at, state, directional_count, directional_sum, directional_mean as directional,
               semantic_count, semantic_sum, semantic_mean as semantic, all_count
        from gmsi.sentiment_by_day where match_type = 'COMBINED'`;
      expect(new Set(view.map(({ state }) => state)).size).toBeGreaterThan(2);
      expect(view.some(({ state, all_count }) => state === 'covered' && all_count === 0)).toBe(true);
      const notLoaded = { state: 'not loaded', all_count: null, directional_count: null, semantic_sum: null };
      // Headlines of November came along.
      const cameAlong = { state: 'partial', all_count: expect.any(Number) };
      for (const row of rows) {
        const isIt = ({ country, topic, at }: Record<string, unknown>) =>
          country === row.country && topic === row.topic && at === row.at;
        expect(row).toMatchObject(view.find(isIt) ?? (row.all_count === null ? notLoaded : cameAlong));
      }
    } finally {
      await cover('{[2026-10-01,2026-11-01)}').execute(warehouse.db);
    }
  });

  it('has in its CSV what the mean of a week is made of, and says what is loaded of the week', async () => {
    const csv = await (await get(`sentiment.csv?${series}&country=NO&from=2026-10-01&to=2026-11-01`)).text();
    const [head, ...lines] = csv
      .trimEnd()
      .split('\n')
      .map((line) => line.split(','));
    const byDay = lines.map((cells) => Object.fromEntries(head!.map((name, n) => [name, cells[n]!])));
    const weeks = await rowsOf(`sentiment?${series}&country=NO&from=2026-10-01&to=2026-11-01&by=week`);
    expect(weeks).toHaveLength(2 * 5);
    const stateIn = (state: string) => weeks.filter((week) => week.state === state).length;
    // The last ten days of NO failed, and November is not loaded.
    expect([stateIn('covered'), stateIn('partial'), stateIn('not loaded')]).toEqual([7, 2, 1]);
    for (const { country, at, directional, all_count } of weeks) {
      const end = new Date(Date.parse(String(at)) + 7 * 86_400_000).toISOString().slice(0, 10);
      const days = byDay.filter((day) => day.country === country && day.at! >= String(at) && day.at! < end);
      const sum = (name: string) => days.reduce((sum, day) => sum + Number(day[name]), 0);
      expect(all_count ?? 0).toBe(sum('all_count'));
      if (directional !== null)
        expect(sum('directional_sum') / sum('directional_count')).toBeCloseTo(Number(directional), 9);
    }
  });

  it('says with what changed how much of the period, and of those before, is loaded', async () => {
    const changes = async (of: string, to = '2026-10-31') => {
      const period = `from=${to.slice(0, 8)}${String(Number(to.slice(8)) - 6).padStart(2, '0')}&to=${to}`;
      return (await rowsOf(`sentiment/changes?${period}&of=${of}`)).slice(1);
    };
    const bySeries = await changes('series');
    const byTopic = await changes('topic');
    // The last days of one of the two countries failed; its news before is part of the move.
    expect(bySeries.map(({ state }) => state)).toEqual(['covered', 'covered', 'not loaded']);
    expect(byTopic.map(({ topic, state }) => [topic, state]).toSorted()).toEqual([
      ['Governance/Corruption', 'covered'],
      ['Inflation-Food', 'partial'],
    ]);
    // The 90 days before begin in July.
    for (const { state_before } of [...bySeries, ...byTopic]) expect(state_before).toBe('partial');
    const [first] = await changes('country', '2026-10-07');
    expect(first).toMatchObject({
      topic: null,
      state: 'covered',
      state_before: 'not loaded',
      mean_before: null,
    });
  });

  it.each(['day', 'month'])('has the means of the scores by %s, now and as of a moment', async (by) => {
    const { rows } = await sql<{ at: string; directional: number | null; semantic: number | null }>`
      select date_trunc(${by}, published_at at time zone 'UTC')::date::text as at,
             directional_score::float8 as directional, semantic_score::float8 as semantic
      from gmsi.headlines
      where country = 'US' and topic = 'Inflation-Food' and match_type = 'COMBINED' and retracted_at is null
        and published_at >= '2026-10-01 00:00+00' and published_at < '2026-11-01 00:00+00'`.execute(
      warehouse.db,
    );
    const meanOf = (scores: readonly number[]) =>
      scores.length === 0
        ? null
        : expect.closeTo(scores.reduce((sum, score) => sum + score, 0) / scores.length, 9);
    const expected = [...new Set(rows.map(({ at }) => at))].toSorted().map((bucket) => {
      const scores = (model: 'directional' | 'semantic') =>
        rows
          .filter(({ at }) => at === bucket)
          .map((row) => row[model])
          .filter((score) => score !== null);
      return {
        at: bucket,
        directional: meanOf(scores('directional')),
        semantic: meanOf(scores('semantic')),
      };
    });
    const asked = `sentiment?${series}&${days}&by=${by}`;
    const later = new Date().toISOString();
    expect(await rowsOf(asked)).toMatchObject(expected);
    expect(await rowsOf(`${asked}&as_of=${later}`)).toMatchObject(expected);
  });

  it('has the means that were known at a moment after scores changed', async () => {
    const asked = `sentiment?${series}&${days}&by=month`;
    const before = await rowsOf(asked);
    const rows = await run<{ at: Date }>`select clock_timestamp() as at`;
    await new Promise((resolve) => setTimeout(resolve, 5));
    await run`
      update gmsi.headlines set directional_score = -directional_score, changed_at = clock_timestamp()
      where ${ofOctober} and directional_score > 0`;
    const [then] = await rowsOf(`${asked}&as_of=${rows[0]!.at.toISOString()}`);
    for (const value of ['directional', 'semantic'])
      expect(then![value]).toBeCloseTo(before[0]![value] as number, 9);
    const [now] = await rowsOf(asked);
    expect(now!.directional).toBeLessThan(then!.directional as number);
    expect(now!.semantic).toBeCloseTo(then!.semantic as number, 9);
  });

  it('answers with times that, given back as a moment, name the version that they are of', async () => {
    const ofNovember = `headlines?${series}&from=2026-10-01T00:00:00Z&to=2026-11-01T00:00:00Z&limit=1`;
    const [shown] = await rowsOf(ofNovember);
    await run`
      update gmsi.headlines set semantic_score = -1, changed_at = date_trunc('milliseconds', clock_timestamp()) + interval '456 microseconds'
      where ${ofOctober} and headline_id = ${shown!.headline_id}`;
    const [changed] = await rowsOf(ofNovember);
    expect(changed!.changed_at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}456Z$/);
    const versions = await rowsOf(
      `headlines/versions?${series}&published_at=${shown!.published_at}&headline_id=${shown!.headline_id}`,
    );
    expect(versions.length).toBeGreaterThan(1);
    for (const { known_from, semantic_score } of versions) {
      const [then] = await rowsOf(`${ofNovember}&as_of=${known_from}`);
      expect(then).toMatchObject({ changed_at: known_from, semantic_score });
    }
  });

  it('answers with all times of the warehouse to the microsecond, loads and moments, too', async () => {
    await run`insert into gmsi.moments (name, at, taken_by) values ('exact', '2026-11-01 00:00:00.123456+00', 'test')`;
    await run`update gmsi.loads set started_at = '2026-11-01 00:00:00.123456+00'`;
    await run`update gmsi.check_results set checked_at = '2026-11-01 00:00:00.123456+00'`;
    await run`update gmsi.loads set finished_at = '2026-11-01 00:00:01.123456+00' where job = 'test'`;
    const exact = '2026-11-01T00:00:00.123456Z';
    expect((await rowsOf('moments')).find(({ name }) => name === 'exact')).toMatchObject({ at: exact });
    for (const { started_at } of await rowsOf('loads')) expect(started_at).toBe(exact);
    for (const { checked_at } of await rowsOf('checks')) expect(checked_at).toBe(exact);
    const job = (await rowsOf('jobs')).find(({ job }) => job === 'test')!;
    expect(job.last_load_at).toBe('2026-11-01T00:00:01.123456Z');
    // Only what this program computes is not a time of the warehouse.
    const dates = page.endpoints.flatMap(({ path, row }) =>
      Object.entries(row.shape)
        .filter(([, kind]) => (kind instanceof z.ZodNullable ? kind.unwrap() : kind) instanceof z.ZodDate)
        .map(([column]) => `${path}.${column}`),
    );
    expect(dates).toEqual(['jobs.next_run', 'jobs.spent_by']);
  });

  it('says of headlines whose time was corrected what they were and what they are', async () => {
    const asked = `headlines?${series}&from=2026-10-01T00:00:00Z&to=2026-11-01T00:00:00Z&limit=1000`;
    const shown = (await rowsOf(asked)).find(({ retracted_at }) => retracted_at === null)!;
    const isIt = sql`country = 'US' and topic = 'Inflation-Food' and match_type = 'COMBINED' and headline_id = ${shown.headline_id}`;
    await run`
      insert into gmsi.headlines select moved.* from (select * from gmsi.headlines where ${isIt}) as h
      cross join lateral jsonb_populate_record(null::gmsi.headlines, to_jsonb(h)
        || jsonb_build_object('published_at', h.published_at - interval '40 minutes', 'moved_from', h.published_at)) as moved`;
    await run`
      update gmsi.headlines set retracted_at = case when moved_from is null then now() end,
        changed_at = case when moved_from is null then clock_timestamp() else changed_at end
      where ${isIt}`;
    const found = (await rowsOf(asked)).filter(({ headline_id }) => headline_id === shown.headline_id);
    expect(found).toMatchObject([
      { published_at: shown.published_at, reason: 'moved', moved_from: null },
      { reason: null, retracted_at: null, moved_from: shown.published_at },
    ]);
  });

  it('describes itself in OpenAPI, every endpoint with its parameters', async () => {
    const { paths } = (await (await get('openapi.json')).json()) as {
      paths: Record<string, { get: { parameters?: { name: string }[] } }>;
    };
    expect(Object.keys(paths).toSorted()).toEqual(
      page.endpoints.map(({ path }) => `/api/${path}`).toSorted(),
    );
    expect(paths['/api/sentiment']!.get.parameters!.map(({ name }) => name).join()).toBe(
      'country,topic,match_type,from,to,as_of,by',
    );
  });
});

describe('an unchanged answer', () => {
  it('is not sent again until something has been written', async () => {
    const path = `sentiment?${series}&${days}`;
    const first = await get(path);
    const headers = { 'if-none-match': first.headers.get('etag')! };
    await first.text();
    // Other tests of this server write as well: then the answer comes again, which is right, too.
    await expect
      .poll(async () => {
        const etag = (await get(path)).headers.get('etag')!;
        return (await get(path, { headers: { 'if-none-match': etag } })).status;
      })
      .toBe(304);
    // Another question.
    expect((await get(`${path}&by=week`, { headers })).status).toBe(200);
    await run`update gmsi.topics set category = category`;
    expect((await get(path, { headers })).status).toBe(200);
  });

  it('is announced: the state is another one once anybody has written something', async () => {
    const state = async () => ((await (await get('state')).json()) as { state: string }).state;
    const before = await state();
    expect(before).toMatch(/^[\w-]{22}$/);
    await run`update gmsi.topics set category = category`;
    expect(await state()).not.toBe(before);
  });
});

describe('a question that cannot be answered', () => {
  it.each([
    [
      'coverage?feed=gmsi-headlines&match_type=COMBINED&from=2026-02-30&to=2026-10-31',
      400,
      /from: It must be a day/,
    ],
    [`sentiment?${days}`, 400, /country/],
    [`sentiment?${series}&${days}&by=year`, 400, /by/],
    [`sentiment?${series}&from=1990-01-01&to=2026-10-31&by=hour`, 400, /at most 50000 points/],
    [`sentiment?${series}&${days}&bye=hour`, 400, /bye/],
    [`sentiment?${series}&${days}&as_of=yesterday`, 400, /as_of: no moment is named yesterday/],
    [`sentiment?${series}&${days}&as_of=2025`, 400, /as_of: It must be a moment/],
    [`sentiment?topic=x&${days}${'&country=US'.repeat(101)}`, 400, /country: At most 100/],
    [`headlines?${series}&from=2026-10-01T00:00:00Z&to=2026-11-01T00:00:00Z&limit=5000`, 400, /limit/],
    ['nothing', 404, /no such address/],
  ])('%s: %i', async (path, status, message) => {
    const response = await get(path);
    expect(response.status).toBe(status);
    expect(((await response.json()) as { error: string }).error).toMatch(message);
  });

  it.skipIf(isMoved)('because it takes too long is given up, and says so', async () => {
    const none = { takes: z.object({}), row: z.object({}) };
    const slow = endpoint('slow', 'Sleeps', {
      ...none,
      ask: () => ({ about: 'sleeps', query: sql<Record<string, never>>`select pg_sleep(60)` }),
    });
    await using other = await aPage(warehouse.db, { endpoints: [slow] });
    const response = await fetch(`${other.url}/api/slow`);
    expect(response.status).toBe(504);
    expect(await response.json()).toMatchObject({ error: expect.stringContaining('5 seconds') });
  });

  it('because readers may not see it is refused, and nothing can be written', async () => {
    const none = { takes: z.object({}), row: z.object({}) };
    const asking = (path: string, query: string, rights: 'reader' | 'own') =>
      endpoint(path, 'An attack', {
        ...none,
        rights,
        ask: () => ({ about: 'an attack', query: sql.raw<Record<string, never>>(query) }),
      });
    const endpoints = [
      asking('usage', 'select * from gmsi.api_usage', 'reader'),
      asking('write', 'delete from gmsi.queue returning 1', 'own'),
      asking('reset', "select set_config('role', 'none', true)", 'reader'),
    ];
    await using other = await aPage(warehouse.db, { endpoints });
    expect((await fetch(`${other.url}/api/usage`)).status).toBe(403);
    expect((await fetch(`${other.url}/api/write`)).status).toBe(503);
    expect((await rowsOf('loads')).length).toBeGreaterThan(0);
  });

  it('because the warehouse does not answer says that, and no address', async () => {
    const gone = await anEmptyDatabase();
    await using other = await aPage(gone.db);
    await gone[Symbol.asyncDispose]();
    const response = await fetch(`${other.url}/api/feeds`);
    expect(response.status).toBeGreaterThanOrEqual(500);
    expect(await response.text()).not.toMatch(/postgres:\/\/|password/);
  });
});
