import { cp, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { sql } from 'kysely';
import { afterEach, beforeAll, expect, test } from 'vitest';
import { accessTo, aFolder, prints, says } from '../cli/gmsi.ts';
import { gmsiHere } from '../cli/in-process.ts';
import { jobFor } from '../cli/jobs.ts';
import { aPlaceForAll } from '../cli/place.ts';
import { sqlMarked } from '../docs/pages.ts';
import { aWebhook } from '../observe/a-webhook.ts';
import { aLogin } from '../support/a-login.ts';
import { cases } from '../support/cases.ts';
import { isMoved } from '../support/moved-time.ts';
import { aWarehouse } from '../support/test-warehouse.ts';
import { countRows, sqlIn } from '../support/warehouse-state.ts';

const month = { countries: ['US'], topics: ['Inflation-Food'], from: '2024-01-01', to: '2024-01-31' };
const ownCheck = `-- check: No headline is of a Sunday
-- why: A team's own rule.

select (published_at at time zone 'UTC')::date as day, count(*) as headlines
from job_headlines
where extract(dow from published_at) = 0
group by 1
order by 1
`;

const { folder, sandbox, warehouse } = await aPlaceForAll();

beforeAll(async () => {
  await folder.write('jobs/month.yaml', jobFor(month));
  await folder.write('jobs/norway.yaml', jobFor({ ...month, countries: ['NO'] }));
  const { code } = await run('backfill', 'month', 'norway');
  expect(code).toBe(0);
});
afterEach(() => rm(join(folder.path, 'jobs/checks'), { recursive: true, force: true }));
const run = (...args: string[]) => gmsiHere(args, { cwd: folder.path, env: accessTo(warehouse, sandbox) });

test('check runs over several jobs, prints a table of results and spends no request', async () => {
  const { requests } = sandbox.stats();
  const { code, stdout, stderr } = await run('check', 'month', 'norway');
  expect([code, stderr]).toEqual([0, '']);
  expect(stdout).toMatch(/^Job month: 1 series, 2024-01-01 to 2024-01-31\n\ncheck +result/);
  expect(stdout).toMatch(/\nJob norway: 1 series/);
  expect(stdout).toMatch(/\nscore-sums +passed +The probabilities/);
  expect(stdout).toMatch(/\n\d+ checks: \d+ passed, 3 skipped\n/);
  for (const line of stdout.split('\n')) expect(line.length).toBeLessThanOrEqual(100);
  expect(sandbox.stats().requests).toBe(requests);
});

test('days before the history limit are no gap, as they are not missing in gmsi status', async () => {
  const longer = { ...jobFor(month), start_date: '2023-12-01' };
  await folder.write('jobs/longer.yaml', longer);
  const gaps = () => run('check', 'longer', '--only', 'gaps');
  expect(await gaps()).toMatchObject(prints(0, 'gaps warned: 1 finding.'));
  await folder.write('jobs/longer.yaml', { ...longer, history_limit: '2024-01-01' });
  expect(await gaps()).toMatchObject(prints(0, '1 check: 1 passed'));
  await rm(join(folder.path, 'jobs/longer.yaml'));
  await sqlIn(warehouse.db)`delete from gmsi.check_results where job = 'longer'`;
});

test('a check that is a link out of its folder is refused, because errors quote a check', async () => {
  await folder.write('jobs/checks/own.sql', ownCheck);
  await symlink('/etc/passwd', join(folder.path, 'jobs/checks/link.sql'));
  const { code, stderr } = await run('check', 'month', '--only', 'own');
  expect(stderr).toContain(
    'jobs/checks/link.sql cannot be read: it is a link out of its folder, to /etc/passwd',
  );
  expect(code).toBe(2);
});

test("a team's own check is run besides the others, and can fail", async () => {
  await folder.write('jobs/checks/no-sundays.sql', ownCheck);
  const failed = await run('check', 'month', '--only', 'no-sundays', '--rows', '2');
  expect(failed.code).toBe(1);
  expect(failed.stdout).toMatch(
    /no-sundays failed: 4 findings\. A team's own rule\.\nday +headlines\n2024-01-07 +\d+\n2024-01-14 +\d+\n\(2 more; /,
  );
  const json = await run('check', 'month', '--only', 'no-sundays', '--json');
  expect(json.code).toBe(1);
  expect(JSON.parse(json.stdout)).toMatchObject({
    jobs: [
      {
        job: 'month',
        period: { from: '2024-01-01', to: '2024-01-31' },
        checks: [
          {
            check: 'no-sundays',
            severity: 'fail',
            file: join('jobs', 'checks', 'no-sundays.sql'),
            result: 'failed',
            findings: 4,
            rows: [{ day: '2024-01-07', headlines: expect.any(Number) }, {}, {}, {}],
          },
        ],
      },
    ],
  });
  await folder.write('jobs/checks/no-sundays.sql', ownCheck.replace('-- why', '-- severity: warn\n-- why'));
  const warned = await run('check', 'month', '--only', 'no-sundays');
  expect(warned).toMatchObject(prints(0, '1 check: 1 warned'));
});

test('a check that fails is an alert, which ends once it passes', async () => {
  await using webhook = await aWebhook();
  const env = { ...accessTo(warehouse, sandbox), GMSI_ALERT_WEBHOOK_URL: webhook.url.reveal() };
  for (const day of ['= 0', '= 7']) {
    await folder.write('jobs/checks/no-sundays.sql', ownCheck.replace('= 0', day));
    await gmsiHere(['check', 'month', '--only', 'no-sundays'], { cwd: folder.path, env });
  }
  const text = /^gmsi: Job month: 1 check failed\. .*Sunday” \(4 findings\)\. To do: gmsi check month$/;
  expect(webhook.taken).toMatchObject([
    { kind: 'check failed', status: 'raised', text: expect.stringMatching(text) },
    { kind: 'check failed', status: 'resolved' },
  ]);
});

/** A check that finds these rows: their days, which may be equal, and a total of all. */
const finding = (days: readonly string[], total = days.length) => `-- check: There are no days
-- why: A reason.
-- totals: total

select day, ${total} as total from unnest('{${days.join(',')}}'::text[]) as day where (select true from job_period)
`;

test('findings that somebody acknowledges no longer fail a check or raise its alert; a new or changed one does', async () => {
  await using webhook = await aWebhook();
  const env = { ...accessTo(warehouse, sandbox), GMSI_ALERT_WEBHOOK_URL: webhook.url.reveal() };
  const look = async (...args: string[]) => {
    const { code, stdout } = await gmsiHere(['check', 'month', ...args, '--json'], { cwd: folder.path, env });
    const [{ result, findings, rows, known, known_rows }] = JSON.parse(stdout).jobs[0].checks;
    return { code, result, findings, known, days: rows.map(({ day }: { day: string }) => day), known_rows };
  };
  const own = ['--only', 'own'];
  await folder.write('jobs/checks/own.sql', finding(['mon', 'tue', 'wed']));
  expect(await look(...own)).toMatchObject({ code: 1, result: 'failed', findings: 3, known: 0 });
  const all = { code: 0, result: 'known', findings: 0, known: 3, days: [] };
  expect(await look('--known', 'own', '--reason', 'the desk was closed')).toMatchObject(all);
  expect(await look(...own)).toMatchObject({
    ...all,
    known_rows: [
      {
        finding: { day: 'mon' },
        reason: 'the desk was closed',
        known_since: expect.stringMatching(/^20\d\d-\d\d-\d\dT/),
      },
      ...[{}, {}],
    ],
  });
  const told = await run('check', 'month', ...own);
  expect(told.stdout).toMatch(
    /\nown: 3 known findings\nknown since +reason +day +total\n20\d\d-\d\d-\d\d +the desk was closed +mon +3\n/,
  );
  expect(told.stdout).toContain('1 check: 1 known');

  // One is gone and one is changed; the total of all is not part of a finding.
  await folder.write('jobs/checks/own.sql', finding(['mon', 'TUE']));
  expect(await look(...own)).toMatchObject({
    code: 1,
    result: 'failed',
    findings: 1,
    known: 1,
    days: ['TUE'],
  });
  // Another one that is equal to a known one is new.
  await folder.write('jobs/checks/own.sql', finding(['mon', 'mon', 'tue']));
  expect(await look(...own)).toMatchObject({ code: 1, findings: 1, known: 2, days: ['mon'] });
  expect(webhook.taken).toMatchObject([
    { kind: 'check failed', status: 'raised', text: expect.stringContaining('(3 findings)') },
    { kind: 'check failed', status: 'resolved' },
    { kind: 'check failed', status: 'raised', text: expect.stringContaining('(1 finding)') },
  ]);
  // What is known already keeps its reason.
  const { known_rows } = await look('--known', 'own', '--reason', 'again');
  expect(known_rows.map(({ reason }: { reason: string }) => reason).toSorted()).toEqual([
    'again',
    'the desk was closed',
    'the desk was closed',
  ]);
  expect(await look('--not-known', 'own')).toMatchObject({ code: 1, findings: 3, known: 0 });
  expect(await look(...own)).toMatchObject({ code: 1, findings: 3, known: 0 });
});

test('findings that are not shown are not acknowledged', async () => {
  await folder.write('jobs/checks/own.sql', finding(['mon', 'tue', 'wed']));
  const known = ['check', 'month', '--known', 'own', '--reason', 'x'];
  expect(await run(...known, '--rows', '2')).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(
      /own has 3 findings in job month, and only 2 would be shown\.\n.* gmsi check month --known own --reason "…" --rows 3\n/,
    ),
  });
  expect(await countRows(warehouse.db, 'known_findings')).toBe(0);
});

// With a moved clock, the server's timeouts do not end a sleep.
test.skipIf(isMoved)('findings of a check that did not finish are not acknowledged', async () => {
  await folder.write('jobs/checks/own.sql', '-- check: x\n-- why: y\n\nselect pg_sleep(60)\n');
  const known = ['check', 'month', '--known', 'own', '--reason', 'x'];
  expect(await run(...known, '--timeout', '1')).toMatchObject(says(2, 'own has no result for job month: '));
  expect(await countRows(warehouse.db, 'known_findings')).toBe(0);
});

test('checks in jobs/checks of the working directory count, and replace those of the same name', async () => {
  await using own = await aFolder();
  await cp(join(folder.path, 'jobs'), join(own.path, 'jobs'), { recursive: true });
  await own.write('jobs/checks/gaps.sql', ownCheck);
  const { stdout } = await gmsiHere(['check', 'month', '--json'], {
    cwd: own.path,
    env: accessTo(warehouse, sandbox),
  });
  const [{ checks }] = JSON.parse(stdout).jobs as [{ checks: { check: string }[] }];
  expect(checks.filter(({ check }) => check === 'gaps')).toMatchObject([
    { title: 'No headline is of a Sunday', file: join('jobs', 'checks', 'gaps.sql') },
  ]);
  expect(checks.length).toBeGreaterThan(10);
});

const bad = cases`
  a check that there is not | check month --only rollup | no check "rollup"\.\n {2}→ Did you mean rollups\?
  a number that is none | check month --rows all | '--rows <number>' argument 'all' is invalid\. It must be a whole number.*\n
      {2}→ 
  no reason | check month --known gaps | --known needs a reason\.\n {2}→ Add --reason
  a reason for nothing | check month --reason x | --reason needs --known\.\n {2}→ 
  no job | check --known gaps --reason x | --known and --not-known need a job\.\n {2}→ 
  a broken file | check month --only bad | bad\.sql:4: column "nothing" does not exist\n {2}→ 
`;

test.for(bad)('check with %s ends with 2, one line of what and one of what to do', async ([, args, says]) => {
  await folder.write('jobs/checks/bad.sql', '-- check: x\n-- why: y\n\nselect nothing from job_headlines\n');
  expect(await run(...args!.split(' '))).toMatchObject({
    code: 2,
    stdout: '',
    stderr: expect.stringMatching(new RegExp(says!)),
  });
});

test('a series that the warehouse does not know yet cannot be checked', async () => {
  await using empty = await aWarehouse();
  const ended = await gmsiHere(['check', 'month'], { cwd: folder.path, env: accessTo(empty, sandbox) });
  expect(ended).toMatchObject(says(2, 'has not been loaded yet'));
});

test('the rights of an analyst are enough', async () => {
  await using analyst = await aLogin(warehouse);
  await sql.raw(sqlMarked('reader').replaceAll('analyst', analyst.name)).execute(warehouse.db);
  const byOwner = await run('check', 'month');
  const byAnalyst = await gmsiHere(['check', 'month'], {
    cwd: folder.path,
    env: { DATABASE_URL: analyst.url },
  });
  const told = 'The results are not stored, because this connection may only read.\n\n';
  expect({ ...byAnalyst, stdout: byAnalyst.stdout.replace(told, '') }).toEqual(byOwner);
  expect(byAnalyst.stdout).toContain(told);
  expect(byAnalyst.stdout).toMatch(/checks: 1\d passed, /);
});

test('the last result of each check is kept; a run of all checks removes those that are gone', async () => {
  const kept = async () =>
    (
      await sql<{ job: string; check_name: string; result: string; findings: number }>`
        select job, check_name, result, findings from gmsi.check_results order by job, check_name
      `.execute(warehouse.db)
    ).rows;
  await run('check', 'norway');
  await folder.write('jobs/checks/no-sundays.sql', ownCheck);
  await run('check', 'month');
  const all = await kept();
  const ofMonth = all.filter(({ job }) => job === 'month');
  expect(ofMonth.length).toBe(all.length / 2 + 0.5);
  expect(ofMonth.find(({ check_name }) => check_name === 'no-sundays')).toMatchObject({
    result: 'failed',
  });

  // One check alone leaves the others as they are.
  await folder.write('jobs/checks/no-sundays.sql', ownCheck.replace('= 0', '= 7'));
  await run('check', 'month', '--only', 'no-sundays');
  expect(await kept()).toHaveLength(all.length);
  expect((await kept()).find(({ check_name }) => check_name === 'no-sundays')).toMatchObject({
    result: 'passed',
    findings: 0,
  });

  await rm(join(folder.path, 'jobs/checks'), { recursive: true });
  await run('check', 'month');
  const left = await kept();
  expect(left).toHaveLength(all.length - 1);
  expect(left.map(({ check_name }) => check_name)).not.toContain('no-sundays');
});
