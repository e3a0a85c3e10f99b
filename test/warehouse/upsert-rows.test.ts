import fc from 'fast-check';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { Row } from '../../src/feeds/feed.ts';
import { gmsiHeadlines } from '../../src/feeds/gmsi-headlines.ts';
import { storableJson, storableText } from '../../src/feeds/reading/storable-json.ts';
import { retried } from '../../src/warehouse/retries.ts';
import { upsertRows } from '../../src/warehouse/tables/rows.ts';
import { type WriteTransaction, writeTransaction } from '../../src/warehouse/write-transaction.ts';
import { aLog } from '../support/a-log.ts';
import { aWarehouseForAll } from '../support/for-all.ts';
import { countRows, sqlIn, untilOneWaits } from '../support/warehouse-state.ts';
import { aRow, cameOn, idOf, series, sorted, upsert } from './a-row.ts';

const warehouse = await aWarehouseForAll({ connections: 8 });

beforeEach(async () => {
  await sqlIn(warehouse.db)`delete from gmsi.headlines; delete from gmsi.headline_revisions`;
});

describe('rows of a page', () => {
  it('that have the same key are one row, the last, and the others are its older versions, however often they come', async () => {
    const { db } = warehouse;
    const three = ['first', 'second', 'last'].map((headline) => aRow({ headline }));
    expect(await upsert(db, three, { areLikelyNew: true })).toEqual({ inserted: 1, changed: 2 });
    expect((await held()).map(({ headline }) => headline)).toEqual(['last']);
    expect(await versions()).toEqual(['first', 'second']);
    const before = await held();
    expect(await upsert(db, three, { loadId: 2 })).toEqual({ inserted: 0, changed: 0 });
    expect(await held()).toEqual(before);
    expect(await versions()).toEqual(['first', 'second']);
  });

  it.each([
    ['are the same at 32 bits', 0.123456789012, 0.12345679, 0],
    ['are the same at 32 bits and above 1', -1234.5678901, -1234.5679, 0],
    ['are not', 0.123456789012, 0.1234566, 1],
    ['are not, as one of them is none', 0, null, 1],
    ['are not, as one is larger than any', 0.5, Number.MAX_VALUE, 1],
    ['are larger than any and the same', Number.MAX_VALUE, Number.MAX_VALUE, 0],
    ['are smaller than any', -Number.MIN_VALUE, Number.MIN_VALUE, 0],
  ])('of a file and of the service whose scores %s', async (_, service, file, changed) => {
    const { db } = warehouse;
    await sqlIn(db)`insert into gmsi.loads (load_id, command, job, feed, run_by) overriding system value
        values (3, 'import', '', 'gmsi-headlines', 'test') on conflict do nothing`;
    const sent = [aRow({ semantic_score: service })];
    const read = [aRow({ semantic_score: file })];
    for (const [first, second] of [
      [read, sent],
      [sent, read],
    ] as const) {
      const from = (rows: object) =>
        rows === sent ? { windowId: 7, loadId: 1 } : { windowId: null, loadId: 3 };
      expect(await upsert(db, first, from(first))).toEqual({ inserted: 1, changed: 0 });
      expect(await upsert(db, second, from(second))).toEqual({ inserted: 0, changed });
      expect(await upsert(db, [aRow({ semantic_score: 0.75, source: 'x' })], { windowId: 8 })).toMatchObject({
        changed: 1,
      });
      await sqlIn(db)`delete from gmsi.headlines`;
    }
  });

  it.each([
    ['in nothing', { extra: '{"a": 1, "b": 2}' }, { extra: '{"b": 2.0, "a": 1}' }, []],
    ['in a score', { semantic_score: 0.5, headline: 'a' }, { semantic_score: 0.25, headline: 'a' }, ['a']],
  ])('that have the same key and differ %s have that many versions', async (_, one, other, expected) => {
    for (const areLikelyNew of [true, false]) {
      await upsert(warehouse.db, [aRow(one), aRow(other)], { areLikelyNew });
      expect(await versions()).toEqual(expected);
    }
  });

  it('of a file that have the same key are versions, too, unless the row here is newer', async () => {
    const { db } = warehouse;
    const fromFile = (rows: readonly Row[], madeAt: string) =>
      writeTransaction(db, (trx) =>
        upsertRows(trx, gmsiHeadlines.table, sorted(rows), {
          series,
          loadId: 1,
          windowId: null,
          ...cameOn(true),
          askedAt: madeAt,
        }),
      );
    const two = [aRow({ headline: 'first' }), aRow({ headline: 'last' })];
    await upsert(db, [aRow({ headline: 'here' })], { loadId: 2 });
    expect(await fromFile(two, '2020-01-01T00:00:00Z')).toEqual({ inserted: 0, changed: 0 });
    expect(await fromFile(two, '2100-01-01T00:00:00Z')).toEqual({ inserted: 0, changed: 2 });
    expect(await fromFile(two, '2100-01-01T00:00:00Z')).toEqual({ inserted: 0, changed: 0 });
    expect(await versions()).toEqual(['here', 'first']);
  });

  it.each([
    ['a score', { semantic_score: 0.25 }, { semantic_score: 0.5 }, 'rescored'],
    ['a score that was missing', { semantic_score: null }, { semantic_score: 0.5 }, 'rescored'],
    ['a score that is gone', { semantic_score: 0.5 }, { semantic_score: null }, 'rescored'],
    ['the least bit of a score', { topic_probability: 0.3 }, { topic_probability: 0.1 + 0.2 }, 'rescored'],
    ['the text', { headline: 'a' }, { headline: 'b' }, 'text changed'],
    ['the source', { source: 'a' }, { source: 'b' }, 'text changed'],
    ['the address', { url: 'a' }, { url: 'b' }, 'other'],
    ['a field without a column', { extra: '{"rank": 1}' }, { extra: '{"rank": 2}' }, 'other'],
  ])('that change in %s keep the version before', async (_, old, now, reason) => {
    const windowId = 7;
    await upsert(warehouse.db, [aRow(old)], { windowId });
    const [first] = await held();
    const again = await upsert(warehouse.db, [aRow(now)], { loadId: 2, isBackfilled: false, windowId });
    expect(again).toEqual({ inserted: 0, changed: 1 });
    const [second] = await held();
    const revisions = await sqlIn(warehouse.db)`select * from gmsi.headline_revisions`;
    const { changed_at, ...rest } = first!;
    expect(revisions).toEqual([
      { ...rest, known_from: changed_at, known_to: second!.changed_at, reason, load_id: 1 },
    ]);
    expect(second).toMatchObject({ load_id: 2, first_seen_at: first!.first_seen_at, is_backfilled: true });
  });

  it('with and without fractions of a second are met in whatever order they are sent', async () => {
    const times = ['12:00:00.5Z', '12:00:00Z', '12:00:01.999999Z', '12:00:01Z'];
    const rows = times.map((time, n) => aRow({ headline_id: idOf(n), published_at: `2026-09-01T${time}` }));
    await upsert(warehouse.db, rows);
    expect(await upsert(warehouse.db, rows, { areLikelyNew: true })).toEqual({ inserted: 0, changed: 0 });
  });

  it('that another session inserts meanwhile are met at the next try, and the log need not say so', async () => {
    const { db } = warehouse;
    await upsert(db, [aRow({ headline_id: idOf(9) })]);
    const first = await db.startTransaction().execute();
    await upsertRows(first as unknown as WriteTransaction, gmsiHeadlines.table, sorted([aRow()]), {
      series,
      loadId: 1,
      windowId: null,
      ...cameOn(true),
    });
    const failures: unknown[] = [];
    const { log, lines } = aLog();
    const writeAgain = async () => {
      try {
        return await upsert(db, [aRow({ headline: 'b' }), aRow({ headline_id: idOf(2) })], {
          areLikelyNew: true,
        });
      } catch (error) {
        failures.push(error);
        // As if it had taken so long that other waits would be explained.
        const now = performance.now();
        vi.spyOn(performance, 'now').mockReturnValue(now + 60_000);
        throw error;
      }
    };
    const second = retried(writeAgain, { log }).finally(() => vi.restoreAllMocks());
    try {
      await untilOneWaits(db);
    } finally {
      await first.commit().execute();
    }
    expect(await second).toEqual({ inserted: 1, changed: 1 });
    expect(failures).toEqual([expect.objectContaining({ why: 'crossed' })]);
    expect(lines).toEqual([]);
  });

  it.each([false, true])(
    'are written by many at once without a deadlock (likely new: %s)',
    async (areLikelyNew) => {
      const rows = Array.from({ length: 200 }, (_, n) => n + 1);
      // Otherwise a version that was asked for earlier would be dropped if it came later.
      const cameAt = cameOn(true);
      const shuffled = (round: number) =>
        [...rows].sort((a, b) => ((a * 7919 * round) % 211) - ((b * 7919 * round) % 211));
      await Promise.all(
        Array.from({ length: 16 }, (_, round) =>
          retried(() =>
            upsert(
              warehouse.db,
              shuffled(round + 1).map((n) => aRow({ headline_id: idOf(n), headline: `version ${round}` })),
              { areLikelyNew, cameAt },
            ),
          ),
        ),
      );
      expect(await countRows(warehouse.db, 'headlines')).toBe(200);
      // Each write was a version of its own, and none of them is lost.
      const chains = await sqlIn(warehouse.db)`
      select headline_id from gmsi.headline_revisions group by 1
      having count(*) <> 15 or count(distinct known_from) <> 15 or count(distinct known_to) <> 15
    `;
      expect(chains).toEqual([]);
      expect(await countRows(warehouse.db, 'headline_revisions')).toBe(200 * 15);
    },
  );
});

describe('values', () => {
  const nasty = ['', ' ', 'NULL', 'null', '"', "'", '\\', '\\N', '{', '}', '{}', ',', '\n', '\r\n', '\t'];
  const more = [
    '👩‍👩‍👧',
    'é',
    'e\u0301',
    '\u2028',
    '\u200b',
    '\ufeff',
    '中文',
    'עברית',
    '\x01',
    '\x7f',
    '$1',
    '\ud83d',
    '\0',
  ];
  const piece = fc.oneof(fc.constantFrom(...nasty, ...more), fc.string({ unit: 'binary', maxLength: 6 }));
  const text = fc.array(piece, { maxLength: 6 }).map((parts) => storableText(parts.join('')));
  const number = fc.oneof(
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.constantFrom(0, 0.1, 1e-7, 5e-324, Number.MAX_VALUE, -Number.MAX_VALUE, 1 / 3),
  );
  const column = {
    headline: fc.option(text),
    language: fc.option(text),
    source: fc.option(text),
    url: fc.option(text),
    topic_probability: fc.option(number),
    semantic_score: fc.option(number),
    extra: fc.option(fc.dictionary(text, fc.oneof(text, fc.integer(), fc.constant(null)), { maxKeys: 3 })),
  };

  it('come back as they were written, whatever they hold', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.record(column), { minLength: 1, maxLength: 8 }), async (records) => {
        await sqlIn(warehouse.db)`delete from gmsi.headlines; delete from gmsi.headline_revisions`;
        const rows = records.map(
          (record, n): Row =>
            aRow({
              ...record,
              headline_id: idOf(n),
              extra: record.extra === null ? null : storableJson(record.extra),
            }),
        );
        expect(await upsert(warehouse.db, rows, { areLikelyNew: true })).toEqual({
          inserted: rows.length,
          changed: 0,
        });
        expect(await upsert(warehouse.db, rows)).toEqual({ inserted: 0, changed: 0 });
        const columns = Object.keys(records[0]!);
        const back = (await held()).map((row) =>
          Object.fromEntries(columns.map((name) => [name, comparable(row[name])])),
        );
        expect(back).toEqual(
          records.map((record) =>
            Object.fromEntries(Object.entries(record).map(([name, value]) => [name, comparable(value)])),
          ),
        );
      }),
      { numRuns: 30 },
    );
  });
});

/** The headlines of all older versions, the oldest first. */
async function versions(): Promise<unknown[]> {
  const rows = await sqlIn(warehouse.db)<{ headline: string }>`
    select headline from gmsi.headline_revisions order by known_from`;
  return rows.map(({ headline }) => headline);
}

interface Held {
  readonly [column: string]: unknown;
  readonly changed_at: Date;
}

async function held(): Promise<Held[]> {
  const rows = await sqlIn(warehouse.db)<Held>`
    select * from gmsi.headlines where country = ${series.country} and topic = ${series.topic} order by headline_id
  `;
  return rows;
}

/** The two zeros are one, and so are objects whose keys come in another order: jsonb has an order of its own. */
function comparable(value: unknown): unknown {
  if (typeof value === 'object' && value !== null) return JSON.stringify(Object.entries(value).sort());
  return value === 0 ? 0 : value;
}
