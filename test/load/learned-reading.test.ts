import { describe, expect } from 'vitest';
import { withLearnedReading } from '../../src/load/resolve-load.ts';
import { saveLearnedFacts } from '../../src/warehouse/tables/learned.ts';
import { jumpingClock } from '../service/clocks.ts';
import { aLog } from '../support/a-log.ts';
import { aJobFor, runBackfill } from '../support/run-backfill.ts';
import { runProbe } from '../support/run-probe.ts';
import { aSandbox, it } from '../support/serving.ts';
import { heldBy, servedBy } from '../support/truth.ts';
import { countRows } from '../support/warehouse-state.ts';
import { firstPages, watchRequests } from '../support/watch-requests.ts';

const now = Date.UTC(2026, 10, 20, 12);
const period = { from: '2026-01-01', to: '2026-06-30' };
const one = { ...period, countries: ['US'], topics: ['Inflation-Food'] };

it.for(['inclusive', 'exclusive'] as const)(
  'a job requests no overlap once a probe found end_date %s',
  async (endDate, { db }) => {
    const clock = jumpingClock(now);
    await using sandbox = await aSandbox({ volume: 0.2, endDate, clock: () => new Date(clock.now()) });
    await runProbe({ db, sandbox, clock });
    const requests = watchRequests(sandbox);
    const job = aJobFor(one, { order: 'oldest-first', service: { concurrency: 1 } });
    expect(job.service.endDate).toBe('unknown');
    expect((await runBackfill({ job, db, sandbox })).outcome).toBe('done');
    const asked = firstPages(requests).map(({ query }) => `${query.start_date} ${query.end_date}`);
    expect(asked).toEqual(
      endDate === 'inclusive'
        ? ['2026-01-01 2026-03-31', '2026-04-01 2026-06-29', '2026-06-30 2026-06-30']
        : ['2026-01-01 2026-04-01', '2026-04-01 2026-06-30', '2026-06-30 2026-07-01'],
    );
    const served = servedBy(sandbox, one);
    expect(await heldBy(db, one)).toEqual(served);
    expect(await countRows(db, 'headlines')).toBe(served.length);

    const own = endDate === 'inclusive' ? 'exclusive' : 'inclusive';
    const other = { ...one, countries: ['NO'], to: '2026-01-31' };
    requests.length = 0;
    const { log, lines } = aLog();
    await runBackfill({ job: aJobFor(other, { service: { end_date: own } }), db, sandbox, log });
    expect(firstPages(requests)[0]!.query.end_date).toBe(own === 'inclusive' ? '2026-01-31' : '2026-02-01');
    const warnings = lines.filter(({ level }) => level === 40).map(({ msg }) => msg);
    expect(warnings).toContainEqual(expect.stringContaining(`a probe found that it is ${endDate}`));

    const same = aJobFor(one, { service: { end_date: endDate } });
    expect(await withLearnedReading(db, same)).toEqual({
      job: same,
      endDate: { reading: endDate, by: 'job', contradicted: null },
    });
  },
);

it('what was learned of one feed says nothing of another', async ({ db }) => {
  const fact = { feed: 'ticker-headlines', fact: 'end_date', value: '"inclusive"', evidence: 'a test' };
  await db.insertInto('gmsi.learned_facts').values(fact).execute();
  const { job, endDate } = await withLearnedReading(db, aJobFor(one));
  expect(job.service.endDate).toBe('unknown');
  expect(endDate).toEqual({ reading: 'unknown', by: 'nobody', contradicted: null });
});

describe('the history limit that a probe has learned', () => {
  it.for<
    [
      what: string,
      answered: string,
      refused: string | null,
      job: Record<string, unknown>,
      limit: string | undefined,
    ]
  >([
    ['the day after the last that was refused', '2025-01-01', '2020-02-28', {}, '2020-02-29 probe'],
    ['none if nothing was refused', '2016-11-22', null, {}, undefined],
    ['none if an older day was answered than one refused', '2020-01-01', '2021-01-01', {}, undefined],
    ['what the job says', '2025-01-01', '2024-12-31', { history_limit: '2010-01-01' }, '2010-01-01 job'],
  ])('is %s', async ([_, answered, refused, job, limit], { db }) => {
    const learned = { fact: 'history_limit', value: { answered, refused, asked_on: '2025-06-01' } };
    await saveLearnedFacts(db, 'gmsi-headlines', [{ ...learned, evidence: 'a test' }]);
    const { historyLimit } = (await withLearnedReading(db, aJobFor(one, job))).job;
    expect(historyLimit && `${historyLimit.reach} ${historyLimit.by}`).toBe(limit);
  });
});
