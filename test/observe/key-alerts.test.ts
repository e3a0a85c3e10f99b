import { expect } from 'vitest';
import { accessTo, says } from '../cli/gmsi.ts';
import { gmsiHere } from '../cli/in-process.ts';
import { jobFor, quarter } from '../cli/jobs.ts';
import { aPlace } from '../cli/place.ts';
import { aJob } from '../support/run-backfill.ts';
import { it } from '../support/serving.ts';
import { aConfig, aTelemetry } from './a-telemetry.ts';
import { aWebhook } from './a-webhook.ts';

const january = { ...quarter, topics: ['Inflation-Food'], to: '2024-01-31' };

const said = ({ taken }: Awaited<ReturnType<typeof aWebhook>>) =>
  taken.map(({ kind, job, status }) => `${kind}: ${job} ${status}`);

it('a key that is refused while gmsi work runs is reported to every webhook once, before it ends', async () => {
  await using place = await aPlace({ volume: 0.1 });
  const { folder, sandbox, warehouse } = place;
  await using usual = await aWebhook();
  await using own = await aWebhook();
  const env = { ...accessTo(warehouse, sandbox), GMSI_ALERT_WEBHOOK_URL: usual.url.reveal() };
  const setting = { cwd: folder.path, env };
  const schedule = { backfill: '0 1 1 1 *' };
  await folder.write('jobs/one.yaml', jobFor(january, { schedule, step: 'P8D' }));
  await folder.write(
    'jobs/two.yaml',
    jobFor({ ...january, countries: ['DE'] }, { schedule, alerts: { webhook_url: own.url.reveal() } }),
  );
  expect(await gmsiHere(['backfill', 'one', '--enqueue'], setting)).toMatchObject({ code: 0 });
  const refusal = { kind: 'refuse', status: 403, detail: 'this key was revoked', times: 1_000 } as const;
  sandbox.script([{ ...refusal, match: () => sandbox.stats().pages >= 3 }]);

  expect(await gmsiHere(['work'], setting)).toMatchObject(
    says(2, 'The service refused the API key with 403'),
  );
  expect(said(usual)).toEqual(['key refused: one raised']);
  expect(said(own)).toEqual(['key refused: two raised']);
  expect(own.taken[0]).toMatchObject({
    text: expect.stringMatching(/^gmsi: The service refuses the API key with 403, so job two/),
    details: { status: 403 },
  });

  sandbox.script([]);
  expect(await gmsiHere(['backfill', 'one', 'two'], setting)).toMatchObject({ code: 0 });
  expect(said(usual)).toEqual(['key refused: one raised', 'key refused: one resolved']);
  expect(said(own)).toEqual(['key refused: two raised', 'key refused: two resolved']);
});

it('a refused key is reported after a run by cron, too', async () => {
  await using place = await aPlace({ volume: 0.1 });
  const { folder, sandbox, warehouse } = place;
  await using webhook = await aWebhook();
  const env = { ...accessTo(warehouse, sandbox, 'not-a-key'), GMSI_ALERT_WEBHOOK_URL: webhook.url.reveal() };
  await folder.write('jobs/job.yaml', jobFor(january));
  expect(await gmsiHere(['backfill', 'job'], { cwd: folder.path, env })).toMatchObject({ code: 2 });
  expect(said(webhook)).toEqual(['key refused: job raised']);
});

it('a worker takes a refusal for its end, and a good answer for the end of an older one', async ({ db }) => {
  await using webhook = await aWebhook();
  const config = { ...aConfig, alertWebhook: webhook.url };
  const request = { type: 'request', feed: undefined, path: '/v1/countries', ms: 1 } as const;
  const good = { ...request, outcome: 'ok', status: 200 } as const;
  for (const time of ['the first time', 'after a restart']) {
    await using telemetry = await aTelemetry(db, [aJob()], { config });
    await telemetry.checkAlerts();
    telemetry.onClientEvent({ type: 'key refused', status: 401 });
    telemetry.onClientEvent(good);
    await telemetry.checkAlerts();
    expect(said(webhook), time).toEqual(['key refused: test raised']);
  }
  await using telemetry = await aTelemetry(db, [aJob()], { config });
  await telemetry.checkAlerts();
  // A country that the key may not read.
  telemetry.onClientEvent({ ...request, outcome: '4xx', status: 403 });
  await telemetry.checkAlerts();
  expect(said(webhook)).toHaveLength(1);
  telemetry.onClientEvent(good);
  await telemetry.checkAlerts();
  expect(said(webhook)).toEqual(['key refused: test raised', 'key refused: test resolved']);
});
