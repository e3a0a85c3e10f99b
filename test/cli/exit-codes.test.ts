import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { startSandbox } from '#sandbox';
import { heldBy, servedBy } from '../support/truth.ts';
import { requestsBooked } from '../support/warehouse-state.ts';
import { prints } from './gmsi.ts';
import { gmsiHere } from './in-process.ts';
import { january, jobFor } from './jobs.ts';
import { aPlace } from './place.ts';

it('0: all is done, and done again without a request', async () => {
  await using bench = await aBench();
  const { sandbox, backfill } = bench;
  expect(await backfill()).toMatchObject(prints(0, 'every requested day'));
  const { requests } = sandbox.stats();
  expect(await backfill()).toMatchObject(prints(0, 'no request was sent'));
  expect(sandbox.stats().requests).toBe(requests);
});

it('1: a window was refused, and a rerun requests it again', async () => {
  await using bench = await aBench();
  const { sandbox, warehouse, backfill } = bench;
  const inNorway = ({ path }: { path: string }) => path.endsWith('/NO');
  sandbox.script([{ kind: 'refuse', status: 422, detail: 'not today', match: inNorway, times: 1 }]);

  const first = await backfill();
  expect(first).toMatchObject(prints(1, /complete, except for refused windows[\s\S]*refused/));
  expect(first.stderr).toContain('not today');
  expect(await backfill()).toMatchObject({ code: 0 });
  expect(await heldBy(warehouse.db, january)).toEqual(servedBy(sandbox, january));
});

it('1: a service that has nothing any more retracts nothing, unless that is accepted', async () => {
  await using bench = await aBench({ countries: ['US'], step: 'P60D', service: { end_date: 'inclusive' } });
  await using empty = await startSandbox({ limits: null, volume: 0 });
  const { warehouse, backfill, run } = bench;
  const withoutNews = { GMSI_BASE_URL: empty.url };
  const retracted = async () => {
    const { rows } = await sql<{ rows: number; retracted: number }>`
      select count(*) as rows, count(retracted_at) as retracted from gmsi.headlines`.execute(warehouse.db);
    return rows[0]!;
  };
  await backfill();
  const { rows } = await retracted();

  const failed = await backfill(withoutNews, '--full-refresh');
  expect(failed).toMatchObject(prints(1, /\d failed/));
  expect(failed.stderr).toMatch(
    /no longer returns (\d+) of the \1 rows .* none was retracted.*--accept-retractions/,
  );
  expect(await retracted()).toEqual({ rows, retracted: 0 });
  const planned = await run(['plan', 'job', '--full-refresh'], withoutNews);
  expect(planned.stdout).toMatch(/^retractions .*--accept-retractions/m);

  const accepted = await backfill(withoutNews, '--accept-retractions');
  expect(accepted).toMatchObject(prints(0, `${rows} retracted`));
  expect(await retracted()).toEqual({ rows, retracted: rows });
});

it('2: the key is refused, which a retry does not fix', async () => {
  await using bench = await aBench();
  const { backfill } = bench;
  const { code, stderr } = await backfill({ GMSI_API_KEY: 'another-key' });
  expect(code).toBe(2);
  expect(stderr).toMatch(/^gmsi: The service refused the API key with 401.*\n {2}→ Check GMSI_API_KEY .*\n$/);
});

it('75: the budget is spent, to the request, and a rerun with more goes on from there', async () => {
  await using bench = await aBench({ budget: { requests_per_month: 30, reserve: 10 } });
  const { sandbox, warehouse, backfill, change } = bench;
  const stopped = await backfill();
  expect(stopped).toMatchObject(prints(75, 'stopped at the request budget'));
  expect(sandbox.stats().requests).toBe(20);
  expect(await backfill()).toMatchObject({ code: 75 });
  expect(sandbox.stats().requests).toBe(20);

  await change({ budget: { requests_per_month: 250_000, reserve: 0 } });
  expect(await backfill()).toMatchObject({ code: 0 });
  expect(sandbox.stats().pagesServedTwice).toBe(0);
  expect(await heldBy(warehouse.db, january)).toEqual(servedBy(sandbox, january));
});

it('75: a backfill has sent its --max-requests, for all its jobs together, and a rerun goes on', async () => {
  await using bench = await aBench();
  const { sandbox, warehouse, folder, run } = bench;
  for (const country of january.countries)
    await folder.write(
      `jobs/${country}.yaml`,
      jobFor({ ...january, countries: [country] }, { step: 'P10D', service: { page_size: 10 } }),
    );
  const first = await run(['backfill', ...january.countries, '--max-requests', '7']);
  expect(first.code).toBe(75);
  expect(first.stdout).toContain(
    'gmsi: This run has reached its request limit: 7 of 7 sent.\n  → Run it again; it continues from here.',
  );
  expect(sandbox.stats().requests).toBe(7);
  expect(await requestsBooked(warehouse.db)).toBe(7);

  expect(await run(['backfill', ...january.countries])).toMatchObject({ code: 0 });
  expect(sandbox.stats().pagesServedTwice).toBe(0);
  expect(await requestsBooked(warehouse.db)).toBe(sandbox.stats().requests);
  expect(await heldBy(warehouse.db, january)).toEqual(servedBy(sandbox, january));
});

/** A place with a job, and what backfills it. */
async function aBench(overrides: object = {}) {
  const place = await aPlace({ volume: 0.1 });
  const { folder, setting } = place;
  const change = (to: object) =>
    folder.write('jobs/job.yaml', jobFor(january, { step: 'P10D', service: { page_size: 10 }, ...to }));
  await change(overrides);
  const run = (args: readonly string[], env: Record<string, string> = {}) =>
    gmsiHere(args, { ...setting, env: { ...setting.env, ...env } });
  const backfill = (env = {}, ...more: string[]) => run(['backfill', 'job', ...more], env);
  return { ...place, change, run, backfill };
}
