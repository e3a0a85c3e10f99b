import { sql } from 'kysely';
import { expect, vi } from 'vitest';
import { backfill } from '../../src/load/backfill.ts';
import { createLog } from '../../src/terminal/log.ts';
import { aProcess } from '../support/a-process.ts';
import { aJob, aServiceFor, usualClock } from '../support/run-backfill.ts';
import { serving } from '../support/serving.ts';
import { sqlIn } from '../support/warehouse-state.ts';

const it = serving({ volume: 0.1 });

it('the end of a load that could not be stored is stored by a heartbeat', async ({ db, sandbox }) => {
  // As with a privilege that is missing for a moment.
  await sqlIn(db)`
    create function gmsi.refuse() returns trigger language plpgsql as
    ${sql.lit("begin raise exception 'not now' using errcode = '42501'; end")};
    create trigger refuse before update on gmsi.loads for each row when (new.outcome is not null) execute function gmsi.refuse()`;
  const job = aJob({ countries: ['US'], topics: ['Inflation-Food'] });
  await using process = await aProcess(db, { leaseSeconds: 2 });
  await using service = aServiceFor(job.service, 1000, usualClock, { db, sandbox });
  const log = createLog({ level: 'silent', readable: false });
  const stop = new AbortController().signal;
  const plan = { fullRefresh: false, retryRefused: false };
  await backfill({
    job,
    warehouse: db.patient({}),
    client: service.client,
    clock: usualClock,
    stop,
    process,
    log,
    plan,
  });
  const ends = () => db.selectFrom('gmsi.loads').select('outcome').execute();
  expect(await ends()).toEqual([{ outcome: null }]);
  await sqlIn(db)`drop trigger refuse on gmsi.loads`;
  await vi.waitFor(async () => expect(await ends()).toEqual([{ outcome: 'done' }]), 10_000);
});
