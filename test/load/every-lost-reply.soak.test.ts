import { expect, it } from 'vitest';
import { jobFor } from '../cli/jobs.ts';
import { aWorker, loadsEnded, registered } from '../support/a-worker.ts';
import { countRows, sqlIn } from '../support/warehouse-state.ts';
import { isLoaded, type Kind, loads, loseEachReply, scope, settings } from './losing-replies.ts';

const job = jobFor(scope, { ...settings, schedule: { backfill: '0 1 * * *' } });

const worker: Kind = {
  oneIn: 6,
  before: ({ warehouse }) => registered(warehouse.db, 'small', job, new Date('2026-11-19T20:00:00Z')),
  async work({ warehouse, db, sandbox, url }) {
    await using worker = aWorker({ warehouse: { db, url }, sandbox });
    expect(await loadsEnded(warehouse.db)).toMatchObject([{ job: 'small', outcome: 'done' }]);
    await worker.stop();
  },
  async after(setting) {
    await isLoaded(setting);
    expect(setting.sandbox.stats()).toMatchObject({ pagesServedTwice: 0 });
    const { db } = setting.warehouse;
    const left = sqlIn(db)`select job from gmsi.schedules where process_id is not null or due_at is not null`;
    expect(await left).toEqual([]);
    expect(await countRows(db, 'processes')).toBe(1);
  },
};

it.each(Object.entries({ ...loads, 'a worker': worker }))(
  '%s may lose any reply',
  { timeout: 900_000 },
  (_, kind) => loseEachReply(kind, 6),
);
