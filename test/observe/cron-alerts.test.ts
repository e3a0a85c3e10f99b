import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { accessTo } from '../cli/gmsi.ts';
import { gmsiHere } from '../cli/in-process.ts';
import { jobFor, quarter } from '../cli/jobs.ts';
import { aPlace } from '../cli/place.ts';
import { aWebhook } from './a-webhook.ts';

const key = 'k3y-0f-some0ne';

it('a nightly run reports that windows fail, and that they no longer do, without key and address', async () => {
  await using place = await aPlace({ volume: 0.2, keys: [key] });
  const { folder, sandbox, warehouse } = place;
  await using webhook = await aWebhook();
  const env = { ...accessTo(warehouse, sandbox, key), LOG_LEVEL: 'trace' };
  const setting = { cwd: folder.path, env: { ...env, GMSI_ALERT_WEBHOOK_URL: webhook.url.reveal() } };
  await folder.write(
    'jobs/job.yaml',
    jobFor({ ...quarter, countries: ['NO'], topics: ['Inflation-Food'], to: '2024-01-31' }),
  );
  sandbox.script([
    {
      kind: 'refuse',
      status: 503,
      detail: `x-api-key: ${key} broke it`,
      times: 1_000,
      match: ({ path }) => path.endsWith('/NO'),
    },
  ]);
  let said = '';
  const run = async () => {
    const { code, stdout, stderr } = await gmsiHere(['backfill', 'job'], setting);
    said += stdout + stderr;
    return code;
  };
  expect(await run()).toBe(1);
  sandbox.script([]);
  expect(await run()).toBe(0);

  for (const [score, code] of [
    [3, 1],
    [1, 0],
  ]) {
    await sql`update gmsi.headlines set directional_positive = ${score}`.execute(warehouse.db);
    expect((await gmsiHere(['check', 'job', '--only', 'score-ranges'], setting)).code).toBe(code);
  }

  expect(webhook.taken.map(({ kind, status }) => `${kind} ${status}`)).toEqual([
    'failed windows raised',
    'failed windows resolved',
    'check failed raised',
    'check failed resolved',
  ]);
  expect(webhook.taken[0]!.text).toContain('[key] broke it');
  expect(webhook.taken[2]!.text).toMatch(
    /^gmsi: Check score-ranges of job job failed with \d+ findings?: .* To see them: gmsi check job$/,
  );
  expect(JSON.stringify(webhook.taken)).not.toContain(key);
  expect(said).toContain('sent an alert');
  expect(said).not.toContain('t0ken-0f-a-webhook');
  const ofLoad = said.split('\n').filter((line) => line.includes('"a window failed"'));
  expect(ofLoad.length).toBeGreaterThan(0);
  for (const line of ofLoad)
    expect(JSON.parse(line)).toMatchObject({
      load: expect.any(Number),
      window: expect.any(Number),
      job: 'job',
    });
});
