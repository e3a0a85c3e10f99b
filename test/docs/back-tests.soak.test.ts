import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { sql } from 'kysely';
import { beforeAll, expect, test } from 'vitest';
import { aDesk, type Seen } from './a-desk.ts';
import { backTest } from './analysis-page.ts';
import { root } from './pages.ts';
import { bars, closesOfNewYork, prices } from './prices.ts';
import { asReader, isThere } from './run-program.ts';

const day = 86_400_000;
const dayOf = (time: number) => new Date(time).toISOString().slice(0, 10);
const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0);

const desk = await aDesk();
const outputOf = asReader(desk);

type Row = Readonly<Record<string, number | string | null>>;
type Frame = readonly Row[];

/** Runs examples/backtest.py, and returns some of its tables. */
async function tablesOf(...names: string[]): Promise<Frame[]> {
  const told = names.map(
    (name) =>
      `\nprint("\\n" + ${name}.reset_index().to_json(orient="records", date_format="iso", double_precision=15))`,
  );
  const output = await outputOf('pandas', backTest + told.join(''));
  return output
    .trimEnd()
    .split('\n')
    .filter((line) => line !== '')
    .slice(-names.length)
    .map((line) => JSON.parse(line));
}

/** What a decision may rest on, by what the test saw come. */
interface Decision {
  readonly at: number;
  readonly counted: readonly Seen[];
  readonly state: 'loaded' | 'assumed' | 'not loaded';
}

const versionAt = ({ versions }: Seen, at: number) => versions.findLast(({ from }) => from <= at);
const scoreAt = (seen: Seen, at: number) => versionAt(seen, at)?.score ?? null;
const publishedAt = ({ versions }: Seen) => versions[0]!.publishedAt;

function decisionAt(at: number, begins: number, ends: number, counts: (seen: Seen) => boolean): Decision {
  const isWatched = at >= desk.watch.here!;
  const counted = [...desk.headlines.values()].filter(
    (seen) =>
      scoreAt(seen, at) !== null && counts(seen) && !(isWatched && seen.isAssumed && seen.seenAt > at),
  );
  const days: string[] = [];
  for (let it = Date.parse(dayOf(begins)); it < ends; it += day) days.push(dayOf(it));
  const over = [...days, dayOf(at - day)].filter((it) => it < dayOf(at));
  const isLate = isWatched && over.some((it) => (desk.wholeFrom.get(it) ?? Infinity) > at);
  const isKnown = days.every((it) => desk.loaded.has(it)) && !isLate;
  const state = isKnown ? (isWatched ? 'loaded' : 'assumed') : 'not loaded';
  return { at, counted, state };
}

/** A day as it was known some time after its end: what was published in it and had come by then. */
function asKnown(begins: number, ends: number, delay: number): Decision {
  const at = ends + delay;
  return decisionAt(at, begins + 1, ends, (seen) => {
    const published = versionAt(seen, at)!.publishedAt;
    return seen.enteredAt <= at && published > begins && published <= ends;
  });
}

const stateOf = (row: Row) =>
  ({ covered: 'loaded', settling: 'loaded', assumed: 'assumed' })[row.state as string] ?? 'not loaded';

const meanAt = ({ at, counted }: Decision) =>
  counted.length === 0 ? null : sum(counted.map((seen) => scoreAt(seen, at)!)) / counted.length;

function expectDays(days: Frame, decisions: ReadonlyMap<string, Decision>): void {
  expect(days.map((row) => (row.day as string).slice(0, 10))).toEqual([...decisions.keys()]);
  for (const [n, [about, decision]] of [...decisions].entries()) {
    const row = days[n]!;
    expect(stateOf(row), about).toBe(decision.state);
    if (decision.state === 'not loaded') continue;
    expect(row.headlines, about).toBe(decision.counted.length);
    expectNear(row.mean, meanAt(decision), about);
  }
}

function expectNear(found: unknown, wanted: number | null, about: string): void {
  if (wanted === null) expect(found, about).toBeNull();
  else expect(found, about).toBeCloseTo(wanted, 9);
}

function expectZScores(days: Frame, decisions: readonly Decision[]): void {
  const means = decisions.map((it) => (it.state === 'not loaded' ? null : meanAt(it)));
  let scored = 0;
  for (const [n, own] of means.entries()) {
    const earlier = means.slice(Math.max(0, n - 21), n).filter((it) => it !== null);
    const isComplete = n >= 21 && decisions.slice(n - 21, n).every(({ state }) => state !== 'not loaded');
    const centre = sum(earlier) / earlier.length;
    const spread = Math.sqrt(sum(earlier.map((it) => (it - centre) ** 2)) / (earlier.length - 1));
    const z = own === null || !isComplete || earlier.length < 10 ? null : (own - centre) / spread;
    expectNear(days[n]!.z, z, `z of ${days[n]!.day}`);
    if (z !== null) scored++;
  }
  expect(scored).toBeGreaterThan(10);
}

function expectNoneTwice(decisions: readonly Decision[]): void {
  const ids = decisions.flatMap(({ counted }) => counted.map(({ id }) => id));
  expect(new Set(ids).size).toBe(ids.length);
  expect(ids.length).toBeGreaterThan(1000);
}

const closes = closesOfNewYork();

function atCloses(): Map<string, Decision> {
  const known = new Map<string, Decision>();
  for (const [n, close] of closes.entries())
    if (close.day >= '2025-09-01' && close.day <= '2025-12-31')
      known.set(close.day, asKnown(closes[n - 1]!.at, close.at, 900_000));
  return known;
}

function atEndsOfDays(): Map<string, Decision> {
  const known = new Map<string, Decision>();
  for (let it = Date.parse('2025-09-01'); it <= Date.parse('2025-12-31'); it += day)
    // In microseconds a day ends before midnight, in milliseconds so, too.
    known.set(dayOf(it), asKnown(it - 1, it + day - 1, 6 * 3_600_000 + 1));
  return known;
}

/** What became known since the moment before. */
const atMoments = (moments: readonly number[]) =>
  moments.map((at, n) => {
    const since = moments[n - 1] ?? at - day;
    return decisionAt(at, since, at, ({ enteredAt }) => enteredAt > since && enteredAt <= at);
  });

function atDecisions(): Map<string, Decision> {
  const traded = closes.filter((it) => it.day >= '2025-09-01' && it.day <= '2025-12-31');
  const decisions = atMoments(traded.map(({ at }) => at + 900_000));
  return new Map(traded.map((it, n) => [it.day, decisions[n]!]));
}

/** Each day (UTC) as it was known six hours after its end. */
async function daysInUtc(): Promise<Frame> {
  const { rows } = await sql<Row>`
    select day::text, state, directional_count as headlines, directional_mean as mean
    from gmsi.sentiment_daily_as_known('2025-09-01', '2025-12-31', 'US', 'Market Stress', delay => '6 hours')
    order by day`.execute(desk.db);
  return rows;
}

/** What gmsi.signals says at each bar. */
async function signalsAtBars(): Promise<Frame> {
  const { rows } = await sql<Row>`
    select extract(epoch from moment)::float8 * 1000 as at, state, headline_count as headlines, sentiment_sum as total
    from gmsi.signals(${bars.map((at) => new Date(at))}::timestamptz[], 'US', 'Market Stress')
    order by moment`.execute(desk.db);
  return rows;
}

async function expectProgramsRight(): Promise<Readonly<Record<string, Frame>>> {
  const panel = 'known.rename(columns={"directional_count": "headlines", "directional_mean": "mean"})';
  const [known, days, events] = (await tablesOf(panel, 'days', 'events')) as [Frame, Frame, Frame];
  expectDays(known, atCloses());
  expect(known.map((row) => Date.parse(row.known_at as string))).toEqual(
    [...atCloses().values()].map(({ at }) => at),
  );
  expectNoneTwice([...atCloses().values()]);
  expectDays(days, atDecisions());
  expectZScores(days, [...atDecisions().values()]);
  expectNoneTwice([...atDecisions().values()]);
  expectEvents(days, events);

  const daysOfUtc = await daysInUtc();
  expectDays(daysOfUtc, atEndsOfDays());
  expectNoneTwice([...atEndsOfDays().values()]);

  const decided = await signalsAtBars();
  expectBars(decided);
  return { known, days, daysOfUtc, bars: decided };
}

function expectEvents(days: Frame, events: Frame): void {
  const named = days
    .filter(({ z }) => z !== null)
    .map(({ day: of, z }) => ({
      day: (of as string).slice(0, 10),
      news: (z as number) >= 1 ? 'more' : (z as number) <= -1 ? 'less' : 'neither',
    }));
  const wanted = named.filter(({ news }, n) => news === 'neither' || news !== named[n - 1]?.news);
  expect(events.map(({ day: of, news }) => ({ day: (of as string).slice(0, 10), news }))).toEqual(wanted);
  expect(wanted.length).toBeLessThan(named.length);
  let [held, traded] = [0, 0];
  for (const row of days) {
    const of = (row.day as string).slice(0, 10);
    const z = row.z as number | null;
    const position = z === null || Math.abs(z) < 1 ? 0 : -Math.sign(z);
    const cost = 0.05 * Math.abs(position - held);
    if (position !== held) traded++;
    held = position;
    const bought = prices.findIndex(({ day: next }) => next === of) + 1;
    for (const days of [1, 5, 20, 60]) {
      const sold = prices[bought + days];
      const gain = sold === undefined ? null : 100 * (sold.price / prices[bought]!.price - 1);
      expectNear(row[`after_${days}`], gain, `${days} after ${of}`);
      if (days === 1) expectNear(row.net, gain === null ? null : position * gain - cost, `net of ${of}`);
    }
  }
  expect(traded).toBeGreaterThan(5);
}

function expectBars(found: Frame): void {
  const decisions = atMoments(bars);
  expect(found.map(({ at }) => at)).toEqual(bars);
  for (const [n, { at, state, counted }] of decisions.entries()) {
    const row = found[n]!;
    const about = `at ${new Date(at).toISOString()}`;
    const total = sum(counted.map((seen) => scoreAt(seen, at)!));
    expect(stateOf(row), about).toBe(state);
    expect(row.headlines, about).toBe(counted.length);
    expectNear(row.total, total, about);
  }
  expectNoneTwice(decisions);
}

test('the desk meets every trap', () => {
  const all = [...desk.headlines.values()];
  const watched = all.filter(({ isAssumed }) => !isAssumed);
  const scores = ({ versions }: Seen) => versions.map(({ score }) => score);
  const assumed = all.filter(({ isAssumed }) => isAssumed);
  const on = (...days: string[]) => all.filter((seen) => days.includes(dayOf(publishedAt(seen))));
  const traps = {
    'late by a day': watched.filter((seen) => seen.enteredAt > publishedAt(seen) + day),
    rescored: all.filter((seen) => scores(seen).filter((score) => score !== null).length > 1),
    moved: all.filter(({ versions }) => versions.some((it) => it.publishedAt !== versions[0]!.publishedAt)),
    retracted: all.filter((seen) => scores(seen).includes(null)),
    'stamped on the hour': all.filter((seen) => publishedAt(seen) % 3_600_000 === 0),
    'loaded before the watch': assumed.filter((seen) => publishedAt(seen) < Date.parse('2025-10-17')),
    'loaded after a week without loads': watched.filter(
      (seen) => publishedAt(seen) > Date.parse('2025-11-01'),
    ),
    'at a weekend': all.filter((seen) => [0, 6].includes(new Date(publishedAt(seen)).getUTCDay())),
    'on the day that the clocks were put back': on('2025-11-02'),
    'on the holiday and the half day after it': on('2025-11-27', '2025-11-28'),
  };
  for (const [trap, seen] of Object.entries(traps)) expect(seen.length, trap).toBeGreaterThan(4);
  for (const missing of ['2025-09-21', '2025-12-07']) expect(desk.loaded.has(missing), missing).toBe(false);
});

beforeAll(async () => {
  return () => desk[Symbol.asyncDispose]();
});

const withPandas = test.skipIf(!isThere('pandas'));

withPandas(
  'the back-test and signals use what was known at each decision, count nothing twice, and take no missing day for silence',
  async () => {
    const before = await expectProgramsRight();
    const unknown = ({ state }: Row) => state === 'partial' || state === 'not loaded';
    for (const [name, table] of Object.entries(before)) {
      expect(table.filter(unknown).length, name).toBeGreaterThan(0);
      expect(table.filter(({ state }) => state === 'late').length, `${name}, late`).toBeGreaterThan(0);
      for (const row of table.filter(unknown)) expect(row.z ?? null).toBeNull();
    }

    await desk.loadLater();
    const after = await expectProgramsRight();
    for (const [name, table] of Object.entries(before)) {
      const numbers = ({ headlines, mean, total }: Row) => ({ headlines, mean, total });
      const witnessed = table.flatMap((row, n) => (row.state === 'covered' ? [n] : []));
      expect(witnessed.length, name).toBeGreaterThan(30);
      for (const n of witnessed) expect(numbers(after[name]![n]!)).toEqual(numbers(table[n]!));
      // The first trading day begins before the history.
      const since = after[name]!.findLastIndex(unknown);
      expect(since, name).toBeLessThan(1);
    }

    // What the days are now would have misled many decisions.
    const { rows } = await sql<{ day: string; mean: number | null }>`
      select day::text, directional_mean as mean from gmsi.sentiment_by_day
      where country = 'US' and topic = 'Market Stress' and match_type = 'COMBINED'`.execute(desk.db);
    const now = new Map(rows.map(({ day: of, mean }) => [of, mean]));
    const misled = after.daysOfUtc!.filter(
      ({ day: of, mean }) => Math.abs(Number(mean) - Number(now.get((of as string).slice(0, 10)))) > 0.05,
    );
    expect(misled.length).toBeGreaterThan(20);
  },
);

// After everything was loaded again, so that also what is assumed has versions.
withPandas('gmsi.signals returns for each argument what pandas computes from the versions', async () => {
  const program = readFileSync(join(root, 'test/docs/signals.py'), 'utf8');
  const { headlines, counted, changed } = JSON.parse(await outputOf('pandas', program));
  expect(headlines).toBeGreaterThan(3000);
  expect(counted).toBeGreaterThan(2000);
  for (const [argument, decisions] of Object.entries(changed))
    expect(decisions, `decisions that ${argument} changes`).toBeGreaterThan(10);
});
