import { expect, test } from 'vitest';
import type { Sandbox } from '../../src/sandbox/index.ts';
import { aSandbox, NOON } from './client.ts';

/**
 * What the vendor's public example clients do, written from their description alone: they fetch the days since the newest
 * record that they hold (at first the last 7), then poll the live feed every 15 minutes, and put all of it into one SQLite
 * table, from which a dashboard reads every minute. Only the address and the key are the sandbox's.
 */
interface Example {
  readonly feed: string;
  readonly params: Readonly<Record<string, string>>;
  readonly liveParams: Readonly<Record<string, string>>;
  /** The columns of the table's primary key, none of which may be null. */
  readonly key: readonly string[];
  readonly columns: readonly string[];
}

const TICKERS = ['BTC_CRY', 'ETH_CRY', 'BZ_COM', 'EUR_IND'];
const POLL_MS = 15 * 60_000;

const HEADLINES: Example = {
  feed: '/headlines/feed/{historical|live}/ticker',
  params: {
    ...{ match_type: 'COMBINED', topic_probability_threshold: '0.1', abs_sentiment_threshold: '0.1' },
    ...{ topic_preset: 'ALL', language_preset: 'ALL', source_preset: 'ALL', source_country_preset: 'ALL' },
  },
  liveParams: { limit: '1000' },
  key: ['ticker', 'publication_time', 'topic_name'],
  columns: [
    ...['ticker_name', 'sentiment_score', 'bearish_probability', 'neutral_probability'],
    ...['bullish_probability', 'topic_probability', 'match_type', 'language', 'countries'],
  ],
};

type Row = Readonly<Record<string, string | number | null>>;

/** A client with its table, as `insert or replace` fills it. */
function clientOf(
  example: Example,
  { url, clock, backfillDays = 7 }: { url: string; clock: () => Date; backfillDays?: number },
) {
  const table = new Map<string, Row>();

  async function ask(period: 'historical' | 'live', subject: string, params: Record<string, string>) {
    const path = `${example.feed.replace('{historical|live}', period)}/${subject}`;
    const query = new URLSearchParams({ ...example.params, ...params });
    const response = await fetch(`${url}/v1${path}?${query}`, { headers: { 'x-api-key': 'sandbox-key' } });
    if (!response.ok) throw new Error(`HTTP ${response.status}: ${await response.text()}`);
    // biome-ignore lint/suspicious/noExplicitAny: a client that trusts what it gets
    return (await response.json()) as any;
  }

  function store(records: Record<string, string | number | string[] | null>[]): void {
    for (const { countries, ...record } of records) {
      const row = { ...record, countries: ((countries as string[] | null) ?? []).join('|') } as Row;
      const key = example.key.map((column) => row[column] ?? null);
      if (key.includes(null)) throw new Error(`NOT NULL constraint failed: ${JSON.stringify(row)}`);
      const held = [...example.key, ...example.columns].map((column) => [column, row[column] ?? null]);
      table.set(key.join('\n'), Object.fromEntries(held));
    }
  }

  return {
    rows: () => [...table.values()],
    async backfill(subject: string): Promise<void> {
      const times = [...table.values()].flatMap((row) =>
        row.ticker === subject ? [`${row.publication_time}`] : [],
      );
      const first = new Date(clock().getTime() - backfillDays * 86_400_000).toISOString();
      const params: Record<string, string> = {
        start_date: (times.sort().at(-1) ?? first).slice(0, 10),
        limit: '1000',
      };
      for (let hasMore = true; hasMore; ) {
        const { data, has_more, next_token } = await ask('historical', subject, params);
        store(data);
        hasMore = has_more;
        params.next_token = next_token;
      }
    },
    async poll(subject: string): Promise<void> {
      store(await ask('live', subject, example.liveParams));
    },
    /** What the dashboard shows: it compares times as texts. */
    lastDay: () => {
      const since = new Date(clock().getTime() - 86_400_000).toISOString().replace('Z', '000+00:00');
      return [...table.values()].filter(({ publication_time }) => `${publication_time}` >= since);
    },
  };
}

test('the example client of ticker headlines holds what the service has, and its dashboard finds the last day', async () => {
  let now = NOON.getTime();
  const clock = () => new Date(now);
  const sandbox = await aSandbox({ clock });
  const client = clientOf(HEADLINES, { url: sandbox.url, clock });
  for (const ticker of TICKERS) await client.backfill(ticker);
  for (let poll = 0; poll < 5; poll++) {
    for (const ticker of TICKERS) await client.poll(ticker);
    now += POLL_MS;
  }
  // Stopped for a day and started again, it resumes at the date of its newest record.
  now += 86_400_000;
  for (const ticker of TICKERS) await client.backfill(ticker);
  const truth = truthOf(sandbox, 'ticker-headlines', HEADLINES);
  expectToHold(client.rows(), truth);
  expect(client.rows().length).toBeGreaterThan(500);

  const shown = client.lastDay();
  const dayAgo = now - 86_400_000;
  expectToHold(
    shown,
    truth.filter(({ publication_time }) => Date.parse(`${publication_time}`) >= dayAgo),
  );
  expect(new Set(shown.map(({ ticker }) => ticker))).toEqual(new Set(TICKERS));
  expect(new Set(shown.map(({ match_type }) => match_type))).toEqual(new Set(['EXPLICIT', 'IMPLICIT']));
  // Its map finds countries by name.
  expect(shown.flatMap(({ countries }) => `${countries}`.split('|'))).toContain('United States');
});

test('the example client may begin 90 days ago, the most that it knows', async () => {
  const sandbox = await aSandbox({ volume: 0.2 });
  const client = clientOf(HEADLINES, { url: sandbox.url, clock: () => NOON, backfillDays: 90 });
  await client.backfill('EUR_IND');
  const times = client.rows().map(({ publication_time }) => `${publication_time}`.slice(0, 10));
  expect(times.sort()[0]).toBe('2026-08-22');
  const tooLong = clientOf(HEADLINES, { url: sandbox.url, clock: () => NOON, backfillDays: 91 });
  await expect(tooLong.backfill('EUR_IND')).rejects.toThrow('HTTP 422');
});

/** The records that a client of all tickers can hold, with lists as it joins them. */
function truthOf(sandbox: Sandbox, feed: 'ticker-headlines', { params, key, columns }: Example): Row[] {
  const days = { from: '2026-11-13', to: '2026-11-21' };
  return TICKERS.flatMap((ticker) =>
    sandbox.truthOf(feed, { ticker, ...params, ...days }).map(({ wire }) => {
      const joined = { ...wire, countries: ((wire.countries as string[] | null) ?? []).join('|') } as Row;
      return Object.fromEntries([...key, ...columns].map((column) => [column, joined[column] ?? null]));
    }),
  );
}

/** All that there is, under the client's key, and nothing else; times all written alike, or pandas cannot read them. */
function expectToHold(held: readonly Row[], truth: readonly Row[]): void {
  const texts = new Set(truth.map((row) => JSON.stringify(row)));
  const keyOf = (row: Row) => `${row.ticker} ${row.publication_time} ${row.topic_name}`;
  expect(held.filter((row) => !texts.has(JSON.stringify(row)))).toEqual([]);
  expect(new Set(held.map(keyOf))).toEqual(new Set(truth.map(keyOf)));
  const written = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00$/;
  expect(held.filter(({ publication_time }) => !written.test(`${publication_time}`))).toEqual([]);
}
