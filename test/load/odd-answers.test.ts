import type { ServerResponse } from 'node:http';
import { describe, expect } from 'vitest';
import { gmsiHeadlines } from '../../src/feeds/gmsi-headlines.ts';
import { repair } from '../../src/load/repair.ts';
import type { Warehouse } from '../../src/warehouse/connect.ts';
import { aJobOf } from '../feeds/cases.ts';
import { aProcess } from '../support/a-process.ts';
import { type AskedOf, aPage, aStandIn, recordsOf } from '../support/a-stand-in.ts';
import { aRewritingProxy } from '../support/rewriting-proxy.ts';
import { aJob, aJobFor, refresh, runBackfill, runSync } from '../support/run-backfill.ts';
import { aSandbox, it, serving } from '../support/serving.ts';
import { heldBy, servedBy } from '../support/truth.ts';
import { ageWindowsIn, countRows, coverageOf, sqlIn, windowsOf } from '../support/warehouse-state.ts';
import { watchRequests } from '../support/watch-requests.ts';

/** Answers that are good at first sight, and what may be concluded from them. */

const job = aJob({
  countries: ['US'],
  topics: ['Inflation-Food'],
  start_date: '2025-01-01',
  end_date: '2025-01-10',
  service: { end_date: 'inclusive' },
});

it('bytes that are not UTF-8 fail their window with a sentence, and are not asked for again', async ({
  db,
}) => {
  await using service = await aStandIn((asked, response) => {
    const body = JSON.stringify(aPage(recordsOf(asked, { headline: 'Café prices' })));
    response.writeHead(200, { 'content-type': 'application/json' }).end(Buffer.from(body, 'latin1'));
    return true;
  });
  expect(await runBackfill({ job, db, sandbox: service })).toMatchObject({ outcome: 'incomplete' });
  const last_error = expect.stringMatching(/^The body is not UTF-8\. ./);
  expect(await windowsOf(db)).toMatchObject([{ state: 'failed', last_error }]);
  expect(await countRows(db, 'headlines')).toBe(0);
  expect(await coverageOf(db)).toEqual({});
  expect(service.asked).toHaveLength(1);
});

describe('an answer without records', () => {
  const recent = aJob({
    countries: ['US'],
    topics: ['Inflation-Food'],
    start_date: '2026-11-10',
    end_date: 'today',
    service: { end_date: 'inclusive', concurrency: 1 },
  });

  it.for([{ message: 'quota exceeded' }, { success: false }, { total: 9 }, { upstream: 'stale' }])(
    'with %j covers and withdraws nothing',
    async (more, { db }) => {
      let isSaid = false;
      await using service = await aStandIn((_asked, response) => {
        if (isSaid) response.end(JSON.stringify({ ...aPage([]), ...more }));
        return isSaid;
      });
      const setting = { job: recent, db, sandbox: service };
      expect(await runBackfill(setting)).toMatchObject({ outcome: 'done' });
      const [rows, coverage] = [await countRows(db, 'headlines'), await coverageOf(db)];
      isSaid = true;
      expect(await runSync(setting)).toMatchObject({ outcome: 'incomplete', totals: { rows_retracted: 0 } });
      const failed = (await windowsOf(db)).filter(({ state }) => state === 'failed');
      expect(failed).toMatchObject([{ last_error: expect.stringContaining(String(Object.values(more)[0])) }]);
      expect(await countRows(db, 'headlines')).toBe(rows);
      expect(await coverageOf(db)).toEqual(coverage);
    },
  );

  it('is what a 404 means if the job says so, and else a refusal', async ({ db }) => {
    await using service = await aStandIn((_asked, response) => {
      response.writeHead(404).end('{"detail": "No data found"}');
      return true;
    });
    expect(await runBackfill({ job, db, sandbox: service })).toMatchObject({ outcome: 'incomplete' });
    expect(await windowsOf(db)).toMatchObject([
      { state: 'refused', last_error: expect.stringMatching(/No data found.*service\.no_data/) },
    ]);
    const known = { ...job, service: { ...job.service, noData: ['no data'] } };
    expect(await runBackfill({ job: known, db, sandbox: service })).toMatchObject({ outcome: 'done' });
    expect(Object.values(await coverageOf(db))).toEqual(['{[2025-01-01,2025-01-11)}']);
    expect(service.asked).toHaveLength(2);
  });
});

describe('records that name another series', () => {
  const naming = (names: object) => (asked: AskedOf, response: ServerResponse) => {
    response.end(JSON.stringify(aPage(recordsOf(asked, names))));
    return true;
  };

  it.for([
    [{ country: 'GB' }, 'names the country GB, not US'],
    [{ country: 'United Kingdom' }, 'names the country GB, not US'],
    [{ country: 'United\u00a0Kingdom' }, 'names the country GB, not US'],
    [{ country_code: 'fr' }, 'names the country FR, not US'],
    [{ topic_name: 'Wars' }, 'names the topic Wars, not Inflation-Food'],
    [{ topic: 'wars', country: 'US' }, 'names the topic Wars, not Inflation-Food'],
  ] as const)('are not loaded as the one that was asked for: %j', async ([names, reason], { db }) => {
    await using service = await aStandIn(naming(names));
    expect(await runBackfill({ job, db, sandbox: service })).toMatchObject({ outcome: 'incomplete' });
    expect(await windowsOf(db)).toMatchObject([{ state: 'failed', records_rejected: 10 }]);
    expect(await countRows(db, 'headlines')).toBe(0);
    expect(await coverageOf(db)).toEqual({});
    const rejected = await db.selectFrom('gmsi.rejected_records').select('reason').distinct().execute();
    expect(rejected).toEqual([{ reason }]);

    const stop = new AbortController().signal;
    await using process = await aProcess(db);
    const about = { warehouse: db.patient({}), process, feed: gmsiHeadlines, fields: {}, scope: undefined };
    const repaired = await repair({ ...about, job: '', stop, dryRun: false });
    expect(repaired).toMatchObject({ rows: 0, stillRejected: { [reason]: 10 } });
  });

  it.for([
    { country: 'US', country_code: 'USA', topic: 'INFLATION-FOOD' },
    { country: 'United States', topic: 'Food prices' },
    { country: ['GB'], topic: null, ticker: 'BTC_CRY' },
    { country: 'the news agency' },
  ])('are those of the series if they name it, or something that is no series: %j', async (names, { db }) => {
    await using service = await aStandIn(naming(names));
    expect(await runBackfill({ job, db, sandbox: service })).toMatchObject({ outcome: 'done' });
    expect(await countRows(db, 'headlines')).toBe(10);
  });

  it('are loaded if the job reads the field into a column', async ({ db }) => {
    await using service = await aStandIn(naming({ country: 'GB' }));
    const named = { ...job, fields: { source: ['country'] } };
    expect(await runBackfill({ job: named, db, sandbox: service })).toMatchObject({ outcome: 'done' });
    expect(await countRows(db, 'headlines')).toBe(10);
  });
});

describe('a refusal of the page size', () => {
  it.for([
    { detail: [{ loc: ['query', 'limit'], msg: 'ensure this value is less than or equal to 500' }] },
    { detail: 'limit must be at most 500' },
    { message: "Invalid parameter 'limit'" },
  ])('ends the load at once with its setting, and refuses no window: %j', async (words, { db }) => {
    await using service = await aStandIn(({ request }, response) => {
      const isTooLarge = Number(new URL(request.url!, service.url).searchParams.get('limit')) > 500;
      if (isTooLarge) response.writeHead(422).end(JSON.stringify(words));
      return isTooLarge;
    });
    const recent = {
      service: { concurrency: 1, end_date: 'inclusive' },
      start_date: '2026-08-01',
      end_date: 'today',
    };
    const series = { countries: ['US', 'GB'], topics: ['Wars'] };
    const refused = await runSync({ job: aJob({ ...recent, ...series }), db, sandbox: service });
    expect(refused).toMatchObject({
      outcome: 'failed',
      error: { name: 'PageSizeRefused', hint: expect.stringContaining('service.page_size') },
      windows: { refused: 0 },
    });
    expect(service.asked).toHaveLength(1);
    const smaller = aJob({ ...series, ...recent, service: { ...recent.service, page_size: 500 } });
    expect(await runSync({ job: smaller, db, sandbox: service })).toMatchObject({
      outcome: 'done',
      live: { failed: 0 },
    });
  });

  it('is helped by the setting on the live feed, too', async ({ db }) => {
    await using sandbox = await aSandbox();
    const requests = watchRequests(sandbox);
    const smaller = aJob({ start_date: '2026-11-18', end_date: 'today', service: { page_size: 500 } });
    await runSync({ job: smaller, db, sandbox });
    const live = requests.filter(({ path }) => path.includes('/live/'));
    expect(live.map(({ query }) => query.limit)).toEqual(Array(4).fill('500'));
  });

  it('is no refusal of days or a rate', async ({ db }) => {
    const words = ['limit of 90 days exceeded', 'rate limit: too fast', 'Limit rate exceeded'];
    await using service = await aStandIn(({ before }, response) => {
      response.writeHead(422).end(JSON.stringify({ detail: words[before] }));
      return true;
    });
    for (const said of words) {
      await runBackfill({ job, db, sandbox: service });
      expect(await windowsOf(db)).toMatchObject([
        { state: 'refused', last_error: expect.stringContaining(said) },
      ]);
    }
  });
});

it('a refusal that lasts is requested again by a few loads, and then once a day', async ({ db }) => {
  await using service = await aStandIn((_asked, response) => {
    response.writeHead(404).end('{"detail": "No data found"}');
    return true;
  });
  for (let load = 0; load < 8; load++)
    expect(await runBackfill({ job, db, sandbox: service })).toMatchObject({ outcome: 'incomplete' });
  expect(service.asked).toHaveLength(6);
  await ageWindowsIn(db, '1 day');
  for (const _ of [1, 2]) await runBackfill({ job, db, sandbox: service });
  expect(service.asked).toHaveLength(7);
});

describe.each([402, 403])('a %i', (status) => {
  const refuse = (response: ServerResponse, more: Record<string, string> = {}) => {
    response.writeHead(status, more).end(JSON.stringify({ detail: 'this licence has no GB' }));
    return true;
  };
  const all = aJob({
    countries: 'all',
    topics: 'all',
    start_date: '2024-01-01',
    end_date: '2025-12-31',
    service: { end_date: 'inclusive' },
  });
  const series = (db: Warehouse) => coverageOf(db).then((coverage) => Object.keys(coverage).length);

  it('for one country leaves the others loaded, whole, in one run', async ({ db }) => {
    await using service = await aStandIn(({ country }, response) => country === 'GB' && refuse(response));
    expect(await runBackfill({ job: all, db, sandbox: service })).toMatchObject({
      outcome: 'incomplete',
      error: undefined,
      windows: { pending: 0, failed: 0 },
    });
    expect(await series(db)).toBe(4);
    const refused = (await windowsOf(db)).filter(({ state }) => state === 'refused');
    expect(new Set(refused.map(({ country }) => country))).toEqual(new Set(['GB']));
    for (const { last_error } of refused)
      expect(last_error).toContain(`with ${status}: this licence has no GB`);
    expect(service.asked.filter(({ country }) => country === 'GB')).toHaveLength(2);
  });

  it.runIf(status === 403)(
    'for all countries except one loads that one, however many are first',
    async ({ db }) => {
      const letters = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZ'];
      await using service = await aStandIn(
        ({ country }, response) => country !== 'XA' && refuse(response),
        letters.map((letter) => `X${letter}`),
      );
      const result = await runBackfill({ job: all, db, sandbox: service });
      expect(result).toMatchObject({ outcome: 'incomplete', windows: { pending: 0, failed: 0 } });
      expect(await series(db)).toBe(2);
      expect(service.asked.filter(({ country }) => country !== 'XA')).toHaveLength(50);
    },
  );

  it.runIf(status === 403)('with Retry-After ends nothing', async ({ db }) => {
    const later = { 'retry-after': '1' };
    await using service = await aStandIn(({ before }, response) => before === 3 && refuse(response, later));
    expect(await runBackfill({ job: all, db, sandbox: service })).toMatchObject({ outcome: 'done' });
  });
});

describe('answers without an envelope, or with one', () => {
  const scope = { countries: ['US'], topics: ['Inflation-Food'], from: '2026-09-01', to: '2026-09-10' };

  /** A page's records without their envelope. */
  const withoutEnvelope = ({ data }: { data: unknown }) => data;

  const it = serving({ volume: 0.3 });

  it('covers no window whose bare array is as long as the page asked for', async ({ db, sandbox }) => {
    await using bare = await aRewritingProxy(sandbox, withoutEnvelope);
    const all = servedBy(sandbox, scope).length;
    const asking = (page_size: number) => aJobFor(scope, { service: { end_date: 'inclusive', page_size } });

    const cut = await runBackfill({ job: asking(all), db, sandbox: bare });
    expect(cut).toMatchObject({
      outcome: 'incomplete',
      totals: { requests: expect.any(Number), records: 0 },
    });
    expect(await windowsOf(db)).toMatchObject([
      { state: 'failed', last_error: expect.stringContaining(`a bare array of ${all} records`) },
    ]);
    expect(await coverageOf(db)).toEqual({});

    const whole = await runBackfill({ job: asking(all + 1), db, sandbox: bare });
    expect(whole.outcome).toBe('done');
    expect(await heldBy(db, scope)).toEqual(servedBy(sandbox, scope));
  });

  it('reads a live feed that answers with an envelope', async ({ db }) => {
    await using sandbox = await aSandbox({ liveEnvelope: true });
    const today = { ...scope, from: '2026-11-18', to: '2026-11-20' };
    const job = aJobFor(today, { end_date: 'today' });
    const result = await runSync({ job, db, sandbox });
    expect(result).toMatchObject({ outcome: 'done', live: { series: 1, failed: 0 } });
    expect(result.live.records).toBeGreaterThan(0);
    expect(await heldBy(db, today)).toEqual(servedBy(sandbox, today));
    expect(await runBackfill({ job, db, sandbox, plan: refresh })).toMatchObject({
      totals: { rows_inserted: 0, rows_changed: 0 },
    });
  });

  it.for([
    [undefined, 'true'],
    [{ sparse: false }, 'false'],
  ])(
    'asks a live ticker index for sparse hours unless the job (%o) does not',
    async ([parameters, sparse], { db }) => {
      await using sandbox = await aSandbox();
      const asked: (string | undefined)[] = [];
      const result = await runSync({
        job: aJobOf('ticker-index', { parameters, start_date: '2026-11-18', end_date: 'today' }),
        db,
        sandbox,
        aroundPage(ask, { isLive, query }) {
          if (isLive) asked.push(query.sparse);
          return ask();
        },
      });
      expect(result).toMatchObject({ outcome: 'done' });
      expect(new Set(asked)).toEqual(new Set([sparse]));
    },
  );
});

/** A service whose cursor is a position: once a record is withdrawn, those behind it move up. */
function aServiceByPosition(ids: string[], onPage: () => void) {
  return aStandIn(({ request }, response) => {
    const { searchParams } = new URL(request.url!, 'http://service');
    const from = Number(searchParams.get('next_token') ?? 0);
    const until = from + Number(searchParams.get('limit'));
    const more = { publication_time: '2026-11-19T12:00:00', directional_positive: 0.5 };
    const data = ids.slice(from, until).map((id) => ({ id, headline: id, ...more }));
    const next_token = until < ids.length ? String(until) : null;
    response.end(JSON.stringify({ data, has_more: next_token !== null, next_token }));
    onPage();
    return true;
  });
}

it('a record that a shifting cursor skips is loaded by the lookback', async ({ db }) => {
  const ids = ['a', 'b', 'c', 'd', 'e', 'f'];
  let pages = 0;
  await using service = await aServiceByPosition(ids, () => {
    pages += 1;
    if (pages === 1) ids.shift();
  });
  const held = async () => {
    const rows = await sqlIn(db)<{ headline: string }>`
      select headline from gmsi.headlines where retracted_at is null order by 1`;
    return rows.map(({ headline }) => headline).join('');
  };
  const job = aJob({
    countries: ['US'],
    topics: ['Wars'],
    start_date: '2026-11-15',
    end_date: 'today',
    lookback: 'P3D',
    service: { page_size: 2, end_date: 'inclusive', concurrency: 1 },
  });

  expect(await runBackfill({ job, db, sandbox: service })).toMatchObject({ outcome: 'done' });
  expect(await held()).toBe('abdef');
  expect(await runSync({ job, db, sandbox: service })).toMatchObject({ outcome: 'done' });
  expect(await held()).toBe('bcdef');
});
