import { expect, test } from 'vitest';
import type { FeedName, Sandbox } from '../../src/sandbox/index.ts';
import { aSandbox, NOON } from './client.ts';

/**
 * What the vendor's public example clients do, written from their description alone: they fetch the days since the newest
 * record that they hold (at first the last 7), then poll the live feed every 15 minutes, and put all of it into one SQLite
 * table, from which a dashboard reads every minute. Only the address and the key are the sandbox's.
 */
interface Example {
  readonly feed: string;
  readonly subjects: readonly string[];
  readonly params: Readonly<Record<string, string>>;
  /** Sent to the live feed alone. */
  readonly liveParams?: Readonly<Record<string, string>>;
  /** What the client itself writes into each record. */
  readonly stamp?: Readonly<Record<string, string>>;
  /** The columns of the table's primary key, none of which may be null. */
  readonly key: readonly string[];
  readonly columns: readonly string[];
}

const TICKERS = ['BTC_CRY', 'ETH_CRY', 'BZ_COM', 'EUR_IND'];
const DAY = 86_400_000;
const POLL_MS = 15 * 60_000;

const PRESETS = Object.fromEntries(
  ['topic', 'language', 'source', 'source_country'].map((name) => [`${name}_preset`, 'ALL']),
);
const HOURS = { sparse: 'true', align_to_period_end: 'true' };

const HEADLINES: Example = {
  feed: '/headlines/feed/{period}/ticker/{subject}',
  subjects: TICKERS,
  params: {
    ...{ match_type: 'COMBINED', ...PRESETS },
    ...{ topic_probability_threshold: '0.1', abs_sentiment_threshold: '0.1' },
  },
  liveParams: { limit: '1000' },
  key: ['ticker', 'publication_time', 'topic_name'],
  columns: [
    ...['ticker_name', 'sentiment_score', 'bearish_probability', 'neutral_probability'],
    ...['bullish_probability', 'topic_probability', 'match_type', 'language', 'countries'],
  ],
};

const TICKER_INDEX: Example = {
  feed: '/headlines/index/ticker/{period}/{subject}',
  subjects: TICKERS,
  params: { index_type: 'COMBINED', topic_preset: 'ALL', ...HOURS },
  key: ['ticker', 'publication_time', 'topic_name', 'index_type'],
  columns: ['headline_count', 'sentiment_sum', 'sentiment_abs_sum', 'sentiment_std'],
};

const REGIONAL_INDEX = (index_type: string): Example => ({
  feed: '/headlines/index/macro/{period}/regional/{subject}',
  subjects: ['macro_1'],
  params: { country_preset: 'G20', ...PRESETS, ...HOURS, index_type },
  stamp: { index_type },
  key: ['publication_time', 'topic_name', 'country', 'index_type'],
  columns: ['headline_count', 'sentiment_avg', 'sentiment_sum', 'sentiment_std'],
});

type Row = Readonly<Record<string, string | number | null>>;

interface Page {
  readonly data: readonly Record<string, unknown>[];
  readonly has_more: boolean;
  readonly next_token: string;
}

/** A client with its table, as `insert or replace` fills it. */
function clientOf(
  example: Example,
  { url, clock, backfillDays = 7 }: { url: string; clock: () => Date; backfillDays?: number },
) {
  const table = new Map<string, Row>();
  const newest = new Map<string, string>();

  async function ask<Answer>(period: 'historical' | 'live', subject: string, params: Record<string, string>) {
    const path = example.feed.replace('{period}', period).replace('{subject}', subject);
    const query = new URLSearchParams({ ...example.params, ...params });
    const response = await fetch(`${url}/v1${path}?${query}`, { headers: { 'x-api-key': 'sandbox-key' } });
    if (!response.ok) throw new Error(`HTTP ${response.status}: ${await response.text()}`);
    // A client that trusts what it gets.
    return (await response.json()) as Answer;
  }

  function store(subject: string, records: readonly Record<string, unknown>[]): void {
    for (const record of records) {
      const row = rowOf(example, record);
      const key = example.key.map((column) => row[column]);
      if (key.includes(null)) throw new Error(`NOT NULL constraint failed: ${JSON.stringify(row)}`);
      table.set(key.join('\n'), row);
      const time = `${row.publication_time}`;
      if (time > (newest.get(subject) ?? '')) newest.set(subject, time);
    }
  }

  return {
    rows: () => [...table.values()],
    async backfill(): Promise<void> {
      for (const subject of example.subjects) {
        const first = new Date(clock().getTime() - backfillDays * DAY).toISOString();
        const params: Record<string, string> = {
          start_date: (newest.get(subject) ?? first).slice(0, 10),
          limit: '1000',
        };
        for (let hasMore = true; hasMore; ) {
          const { data, has_more, next_token } = await ask<Page>('historical', subject, params);
          store(subject, data);
          hasMore = has_more;
          params.next_token = next_token;
        }
      }
    },
    async poll(): Promise<void> {
      for (const subject of example.subjects) {
        store(subject, await ask<Page['data']>('live', subject, { ...example.liveParams }));
      }
    },
    /** What the dashboard shows: it compares times as texts. */
    lastDay: () => {
      const since = new Date(clock().getTime() - DAY).toISOString().replace('Z', '000+00:00');
      return [...table.values()].filter(({ publication_time }) => `${publication_time}` >= since);
    },
  };
}

/** Lists are joined, and what a record lacks is null. */
function rowOf({ key, columns, stamp }: Example, record: Record<string, unknown>): Row {
  const countries = ((record.countries as string[] | null) ?? []).join('|');
  const given = { ...record, ...stamp, countries } as Row;
  return Object.fromEntries([...key, ...columns].map((column) => [column, given[column] ?? null]));
}

test.each([
  ['ticker headlines', HEADLINES, 'ticker-headlines'],
  ['the ticker index', TICKER_INDEX, 'ticker-index'],
  ['the regional index', REGIONAL_INDEX('COMBINED'), 'regional-index'],
  ['the regional index of one type', REGIONAL_INDEX('EXPLICIT'), 'regional-index'],
] as const)(
  'the example client of %s holds what the service has, and its dashboard finds the last day',
  async (_, example, feed) => {
    let now = NOON.getTime();
    const clock = () => new Date(now);
    const sandbox = await aSandbox({ clock, volume: 0.3 });
    const client = clientOf(example, { url: sandbox.url, clock, backfillDays: 3 });
    await client.backfill();
    for (let poll = 0; poll < 3; poll++) {
      await client.poll();
      now += POLL_MS;
    }
    // Stopped for a day and started again, it resumes at the date of its newest record.
    now += DAY;
    await client.backfill();
    const truth = truthOf(sandbox, feed, example);
    expectToHold(example, client.rows(), truth);
    expect(client.rows().length).toBeGreaterThan(100);
    const shown = client.lastDay();
    const sinceThen = ({ publication_time }: Row) => Date.parse(`${publication_time}`) >= now - DAY;
    expectToHold(example, shown, truth.filter(sinceThen));
    expect(shown.length).toBeGreaterThan(10);
  },
);

test.each([
  ['ticker headlines', HEADLINES, 'ticker-headlines'],
  ['the ticker index', TICKER_INDEX, 'ticker-index'],
  ['the regional index', REGIONAL_INDEX('COMBINED'), 'regional-index'],
] as const)('one poll of %s brings all of the last 2 hours', async (_, example, feed) => {
  const sandbox = await aSandbox();
  const client = clientOf(example, { url: sandbox.url, clock: () => NOON });
  await client.poll();
  const live = example.subjects.flatMap((subject) =>
    sandbox.truthOf(`${feed}-live`, { ticker: subject, model: subject, ...example.params }),
  );
  expectToHold(
    example,
    client.rows(),
    live.map(({ wire }) => rowOf(example, wire)),
  );
  expect(client.rows().length).toBeGreaterThan(10);
});

test('the dashboard of ticker headlines finds both match types, and countries by name on its map', async () => {
  const sandbox = await aSandbox();
  const client = clientOf(HEADLINES, { url: sandbox.url, clock: () => NOON, backfillDays: 1 });
  await client.backfill();
  const shown = client.lastDay();
  expect(new Set(shown.map(({ ticker }) => ticker))).toEqual(new Set(TICKERS));
  expect(new Set(shown.map(({ match_type }) => match_type))).toEqual(new Set(['EXPLICIT', 'IMPLICIT']));
  expect(shown.flatMap(({ countries }) => `${countries}`.split('|'))).toContain('United States');
});

test('an example client may begin 90 days ago, the most that it knows', async () => {
  const sandbox = await aSandbox({ volume: 0.2 });
  const index = { ...HEADLINES, subjects: ['EUR_IND'] };
  const client = clientOf(index, { url: sandbox.url, clock: () => NOON, backfillDays: 90 });
  await client.backfill();
  const times = client.rows().map(({ publication_time }) => `${publication_time}`.slice(0, 10));
  expect(times.sort()[0]).toBe('2026-08-22');
  const tooLong = clientOf(index, { url: sandbox.url, clock: () => NOON, backfillDays: 91 });
  await expect(tooLong.backfill()).rejects.toThrow('HTTP 422');
});

/** What a client of all subjects can hold. */
function truthOf(sandbox: Sandbox, feed: FeedName, example: Example): Row[] {
  const days = { from: '2026-11-17', to: '2026-11-21' };
  return example.subjects.flatMap((subject) =>
    sandbox
      .truthOf(feed, { ticker: subject, model: subject, ...example.params, ...days })
      .map(({ wire }) => rowOf(example, wire)),
  );
}

/** All that there is, under the client's key, and nothing else; times all written alike, or pandas cannot read them. */
function expectToHold({ key }: Example, held: readonly Row[], truth: readonly Row[]): void {
  const texts = new Set(truth.map((row) => JSON.stringify(row)));
  const keyOf = (row: Row) => key.map((column) => row[column]).join('\n');
  expect(held.filter((row) => !texts.has(JSON.stringify(row)))).toEqual([]);
  expect(new Set(held.map(keyOf))).toEqual(new Set(truth.map(keyOf)));
  const written = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00$/;
  expect(held.filter(({ publication_time }) => !written.test(`${publication_time}`))).toEqual([]);
}
