import { sql } from 'kysely';
import { expect } from 'vitest';
import { setAsOfDelay } from '../support/as-of-delay.ts';
import { aJobFor, runBackfill } from '../support/run-backfill.ts';
import { aSandbox, it } from '../support/serving.ts';
import { heldBy, servedBy } from '../support/truth.ts';
import { sqlIn, windowsOf } from '../support/warehouse-state.ts';

const scope = { countries: ['US', 'DE'], topics: ['Inflation-Food'], from: '2026-09-01', to: '2026-09-30' };
const job = aJobFor(scope, { step: 'P15D', service: { end_date: 'inclusive', page_size: 12 } });

it('a page that is too slow though nothing is locked fails its window, naming the setting; the others are loaded', {
  timeout: 120_000,
}, async ({ db }) => {
  await using sandbox = await aSandbox({ volume: 0.3 });
  await setAsOfDelay(db, 2_000);
  const first = servedBy(sandbox, { ...scope, countries: ['DE'] })[0]!;
  await sqlIn(db)`
    create function gmsi.be_slow() returns trigger language plpgsql as $$ begin perform pg_sleep(1.2); return new; end $$;
    create trigger be_slow before insert on gmsi.headlines for each row
      when (new.headline_id = ${sql.lit(first[3])}) execute function gmsi.be_slow()`;

  const result = await runBackfill({ job, db, sandbox });
  expect(result).toMatchObject({ outcome: 'incomplete', windows: { drained: 3, failed: 1 } });
  const [failed] = (await windowsOf(db)).filter(({ state }) => state === 'failed');
  expect(failed!.last_error).toMatch(/8 times in a row\. If the disk is slow, raise gmsi\.as_of_delay\(\)/);

  await setAsOfDelay(db, 20_000);
  expect(await runBackfill({ job, db, sandbox })).toMatchObject({ outcome: 'done' });
  expect(await heldBy(db, scope)).toEqual(servedBy(sandbox, scope));
});
