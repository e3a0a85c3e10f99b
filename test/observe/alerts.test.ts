import { Temporal } from 'temporal-polyfill';
import { describe, expect } from 'vitest';
import { startSandbox } from '#sandbox';
import type { Job } from '../../src/config/job.ts';
import { type AlertsOptions, checkAlerts } from '../../src/observe/alerts.ts';
import { withStoredJobs } from '../../src/plan/list-jobs.ts';
import type { Warehouse } from '../../src/warehouse/connect.ts';
import { raiseAlert } from '../../src/warehouse/tables/alerts.ts';
import { registerProcess } from '../../src/warehouse/tables/processes.ts';
import { aLog } from '../support/a-log.ts';
import { aJob, runBackfill } from '../support/run-backfill.ts';
import { serving } from '../support/serving.ts';
import { aNewField, aWindowIn, forgetWindowsIn, sqlIn } from '../support/warehouse-state.ts';
import { aConfig, now } from './a-telemetry.ts';
import { aWebhook, type Webhook } from './a-webhook.ts';

const job = aJob({
  countries: ['US'],
  start_date: '2026-09-01',
  end_date: '2026-09-30',
  service: { max_attempts: 1 },
});

/** Checks for alerts, as each worker does every minute. */
async function check(
  db: Warehouse,
  webhook: Pick<Webhook, 'url'>,
  { jobs = [job], ...changes }: Partial<AlertsOptions> & { jobs?: readonly Job[] } = {},
) {
  const { log, lines } = aLog();
  await checkAlerts(jobs, {
    warehouse: db,
    config: { ...aConfig, alertWebhook: webhook.url },
    clock: () => now,
    log,
    signal: new AbortController().signal,
    runBy: 'test',
    ...changes,
  });
  return lines;
}

/** Lets so many requests for the United States fail. */
const failing = (times: number) =>
  ({
    kind: 'server-error',
    status: 503,
    times,
    match: ({ path }: { path: string }) => path.includes('/gmsi/US'),
  }) as const;

const it = serving({ limits: null, volume: 0.1 });

describe('a webhook gets', () => {
  it('that a field is new, for a job that says so', async ({ db }) => {
    await using webhook = await aWebhook();
    await aNewField(db);
    await check(db, webhook);
    expect(webhook.taken).toEqual([]);
    const watched = aJob({ unknown_fields: 'alert' });
    await check(db, webhook, { jobs: [watched, { ...watched, name: 'other', feed: 'gmsi-index' }] });
    expect(webhook.taken.map(({ kind, text }) => [kind, text])).toEqual([
      [
        'fields changed',
        expect.stringMatching(
          /^gmsi: Job test: 1 field new\. Records of gmsi-headlines have fields without a column, kept in extra: mood\./,
        ),
      ],
    ]);
  });

  it('once of windows that fail, and once when they no longer do', async ({ db, sandbox }) => {
    await using webhook = await aWebhook();
    await check(db, webhook);
    expect(webhook.tries).toBe(0);

    sandbox.script([failing(1_000)]);
    for (let tries = 0; tries < 3; tries++) {
      await runBackfill({ job, db, sandbox });
      await Promise.all([check(db, webhook), check(db, webhook), check(db, webhook)]);
    }
    expect(webhook.taken).toEqual([
      {
        text: expect.stringMatching(
          /^gmsi: Job test: 2 windows failed\. The service answered .* with 503.*\. To do: gmsi backfill test$/,
        ),
        kind: 'failed windows',
        job: 'test',
        status: 'raised',
        at: expect.any(String),
        details: { causes: [expect.objectContaining({ code: 'temporary', windows: 2 })] },
      },
    ]);

    sandbox.script([]);
    await runBackfill({ job, db, sandbox });
    await Promise.all([check(db, webhook), check(db, webhook)]);
    await check(db, webhook);
    expect(webhook.taken.map(({ status }) => status)).toEqual(['raised', 'resolved']);
  });

  it('that the service no longer lists a name of a job, or has never listed it', async ({ db, sandbox }) => {
    await using webhook = await aWebhook();
    await runBackfill({ job, db, sandbox });
    const wider = {
      ...aJob({ countries: ['US', 'NO'], start_date: '2026-09-01', end_date: '2026-09-30' }),
      name: 'wider',
    };
    const wrong = { ...aJob({ countries: ['US', 'UK'] }), name: 'wrong' };
    await sqlIn(db)`update gmsi.countries set listed = false where country = 'NO'`;
    // No run tries it again.
    await aWindowIn(db, '2026-09-01', '2026-09-30', { country: 'NO', state: 'failed', last_error: 'x' });
    for (let times = 0; times < 2; times++) await check(db, webhook, { jobs: [job, wider, wrong] });
    expect(webhook.taken.map(({ job, kind, text }) => [job, kind, text])).toEqual([
      [
        'wider',
        'failed windows',
        expect.stringMatching(
          /^gmsi: Job wider: not listed: country NO\. The service no longer lists country NO, so .*\. To do: gmsi lookups\nJob wider: 1/,
        ),
      ],
      [
        'wrong',
        'failed windows',
        expect.stringMatching(
          /^gmsi: Job wrong: cannot run\. .*did you mean "GB".* To do: correct the job file, then gmsi plan wrong$/s,
        ),
      ],
    ]);
    await forgetWindowsIn(db, { country: 'NO' });
    await sqlIn(db)`update gmsi.countries set listed = true where country = 'NO'`;
    await check(db, webhook, { jobs: [wider] });
    expect(webhook.taken.at(-1)).toMatchObject({ job: 'wider', status: 'resolved' });
  });

  it('not that windows are well again while they are only being tried again', async ({ db, sandbox }) => {
    await using webhook = await aWebhook();
    sandbox.script([failing(2)]);
    await runBackfill({ job, db, sandbox });
    await check(db, webhook);
    await runBackfill({
      job,
      db,
      sandbox,
      aroundPage: async (ask) => {
        await check(db, webhook);
        return ask();
      },
    });
    expect(webhook.taken.map(({ status }) => status)).toEqual(['raised']);
  });

  it('of a job that is late, and of a budget that will not last the month, once each', async ({ db }) => {
    await using sandbox = await startSandbox({ limits: null, volume: 0.1, clock: () => now });
    await using webhook = await aWebhook();
    const hourly = aJob({
      start_date: '2026-11-01',
      end_date: 'today',
      schedule: { sync: '15 * * * *' },
      budget: { requests_per_month: 500 },
      alerts: { max_lag: 'P5D' },
    });
    await runBackfill({ job: hourly, db, sandbox });
    const days = (many: number) => () => new Date(now.getTime() + many * 24 * 3600 * 1000);
    await check(db, webhook, { jobs: [hourly] });
    expect(webhook.taken.map(({ kind }) => kind)).toEqual(['budget']);
    for (const many of [1.4, 1.6, 3]) await check(db, webhook, { jobs: [hourly], clock: days(many) });
    // Of another month nothing is used, and 36 hours of it are left, for 288 requests.
    await check(db, webhook, { jobs: [hourly], clock: () => new Date('2026-12-30T12:00:00Z') });
    expect(webhook.taken.map(({ kind, status }) => `${kind} ${status}`)).toEqual([
      'budget raised',
      'late raised',
      'budget resolved',
    ]);
  });

  it('later, if it does not answer; the load goes on', async ({ db, sandbox }) => {
    await using webhook = await aWebhook();
    sandbox.script([failing(1_000)]);
    await runBackfill({ job, db, sandbox });
    const about = { command: 'alert', run_by: 'another', version: 'test', concurrency: null };
    await registerProcess(db, { process_id: 'living', ...about });
    webhook.answer = 503;
    const lines = await check(db, webhook);
    expect(webhook.tries).toBe(1);
    expect(lines).toContainEqual(
      expect.objectContaining({ level: 40, kind: 'failed windows', why: 'it answered 503' }),
    );
    webhook.answer = 200;
    await sqlIn(db)`update gmsi.alerts set process_id = 'living'`;
    await check(db, webhook);
    expect(webhook.taken, 'a living process sends it').toEqual([]);
    // Killed while it sent: its heartbeats have ended.
    await sqlIn(
      db,
    )`update gmsi.processes set heartbeat_at = now() - interval '1 hour' where process_id = 'living'`;
    await check(db, webhook);
    expect(webhook.taken).toHaveLength(1);
  });

  it('nothing because the database names it, whatever a loader has put there', async ({ db }) => {
    await using other = await aWebhook();
    await using webhook = await aWebhook();
    const late = {
      ...aJob({ end_date: 'today' }).definition,
      alerts: { max_lag: 'P5D', webhook_url: other.url.reveal() },
    };
    await sqlIn(db)`insert into gmsi.jobs (job, definition, registered_at, registered_by)
      values ('planted', ${JSON.stringify(late)}::jsonb, now(), 'somebody'), ('null', 'null', now(), 'somebody')`;
    const jobs = await withStoredJobs(db, [], Temporal.PlainDate.from('2026-11-20'));
    await check(db, webhook, { jobs });
    expect([webhook.tries, other.tries]).toEqual([1, 0]);
    expect(webhook.taken[0]!.job).toBe('planted');
  });

  it('the words of others without a meaning for Slack', async ({ db }) => {
    await using webhook = await aWebhook();
    const message = 'It answered 500 (<!channel> <https://evil.test|Renew & pay>).';
    await raiseAlert(db, { job: job.name, kind: 'export failed' }, { message, details: {} });
    await check(db, webhook);
    expect(webhook.taken[0]!.text).toBe(
      'gmsi: It answered 500 (&lt;!channel&gt; &lt;https://evil.test|Renew &amp; pay&gt;).',
    );
  });

  it('nothing at the address to which it redirects', async ({ db }) => {
    await using webhook = await aWebhook();
    webhook.answer = 302;
    const late = aJob({ end_date: 'today', alerts: { max_lag: 'P5D' } });
    const lines = await check(db, webhook, { jobs: [late] });
    expect(webhook.tries).toBe(1);
    expect(lines).toContainEqual(expect.objectContaining({ why: 'it answered 302' }));
  });

  it('never if an alert was over before it could be sent', async ({ db, sandbox }) => {
    await using webhook = await aWebhook();
    sandbox.script([failing(2)]);
    await runBackfill({ job, db, sandbox });
    webhook.answer = 503;
    await check(db, webhook);
    await runBackfill({ job, db, sandbox });
    webhook.answer = 200;
    await check(db, webhook);
    expect(webhook.taken).toEqual([]);
  });
});

it('the address of a webhook is neither logged nor stored nor reported', async ({ db }) => {
  const webhook = await aWebhook();
  await webhook[Symbol.asyncDispose]();
  const late = aJob({ end_date: 'today', alerts: { max_lag: 'P5D' } });
  const lines = await check(db, webhook, { jobs: [late] });
  expect(lines).toContainEqual(expect.objectContaining({ why: 'no answer: ECONNREFUSED' }));
  const rows = await sqlIn(db)`select * from gmsi.alerts`;
  expect(rows).toHaveLength(1);
  expect(JSON.stringify([lines, rows])).not.toContain('t0ken');
});
