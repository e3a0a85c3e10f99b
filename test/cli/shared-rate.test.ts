import { describe, expect, it, vi } from 'vitest';
import { readConfig } from '../../src/config.ts';
import { startSandbox } from '../../src/sandbox/index.ts';
import { aRedis, hasRedis } from '../support/redis.ts';
import { aWarehouse } from '../support/test-warehouse.ts';
import { accessTo, aFolder, gmsi } from './gmsi.ts';
import { jobFor, quarter } from './jobs.ts';

const perSecond = 5;
const burst = 20;
const service = { rate: perSecond, burst, end_date: 'inclusive' };
/** Some twenty requests: about a burst. */
const jobOf = (country: string) =>
  jobFor({ ...quarter, countries: [country] }, { step: 'P9D', service: { ...service, page_size: 1000 } });

describe('processes on one key', () => {
  it('that run one after the other have one burst between them', async () => {
    await using setting = await aSetting();
    for (const job of ['US', 'DE']) expect(await setting.backfill(job)).toMatchObject({ code: 0 });
    expect(setting.statuses()).toEqual(['200']);
    expect(setting.sandbox.stats().requests).toBeGreaterThan(2 * burst);
  });

  it('that run at the same time keep to the limit together, without a setting', async () => {
    await using setting = await aSetting();
    const ended = await Promise.all(setting.jobs.map((job) => setting.backfill(job)));
    expect(ended).toMatchObject([{ code: 0 }, { code: 0 }, { code: 0 }]);
    expect(setting.statuses()).toEqual(['200']);
    expect(setting.sandbox.stats().requests).toBeGreaterThan(2 * burst);
  });

  it.skipIf(!hasRedis)('keep to it by Redis, which need not stay', async () => {
    await using redis = await aRedis({ password: 's3cret' });
    await using setting = await aSetting({ GMSI_REDIS_URL: redis.url.reveal() });
    const running = Promise.all(setting.jobs.map((job) => setting.backfill(job)));
    await setting.hasAnswered(20);
    const { redis_seen_at } = await setting.db
      .selectFrom('request_rate')
      .selectAll()
      .executeTakeFirstOrThrow();
    expect(redis_seen_at).not.toBeNull();
    await redis.stop();
    const ended = await running;
    expect(ended).toMatchObject([{ code: 0 }, { code: 0 }, { code: 0 }]);
    expect(setting.statuses()).toEqual(['200']);
    const said = ended.map(({ stderr }) => stderr).join('\n');
    expect(said).toContain('the rate is shared by the warehouse');
    expect(said).not.toContain('s3cret');
  });
});

describe('GMSI_REDIS_URL', () => {
  it('where nothing answers, is warned of, and the load goes on without it', async () => {
    await using setting = await aSetting({ GMSI_REDIS_URL: 'redis://:s3cret@127.0.0.1:1' });
    const { code, stderr } = await setting.backfill('US');
    expect(code).toBe(0);
    expect(stderr.match(/Redis cannot be used: connect ECONNREFUSED 127.0.0.1:1/g)).toHaveLength(1);
    expect(stderr).not.toContain('s3cret');
    const doctor = await setting.gmsi('doctor');
    expect(doctor.code).toBe(2);
    expect(doctor.stdout).toMatch(/✗ redis .*ECONNREFUSED.*\n.*→ Check GMSI_REDIS_URL/);
  });

  it.skipIf(!hasRedis)('is checked by the doctor', async () => {
    await using redis = await aRedis();
    await using setting = await aSetting({ GMSI_REDIS_URL: redis.url.reveal() });
    await setting.gmsi('migrate');
    const { code, stdout } = await setting.gmsi('doctor');
    expect(stdout).toMatch(/✓ redis +answers, Redis \d/);
    expect(code).toBe(0);
  });

  it('that is no address of a Redis ends the command at once', async () => {
    await using setting = await aSetting({ GMSI_REDIS_URL: 'http://:s3cret@localhost' });
    const { code, stderr } = await setting.backfill('US');
    expect(code).toBe(2);
    expect(stderr).toMatch(
      /^gmsi: GMSI_REDIS_URL is not the address of a Redis\.\n {2}→ It looks like redis:/,
    );
    expect(stderr).not.toContain('s3cret');
  });

  it.each([
    ['localhost:6379', false],
    ['redis://', false],
    ['redis://:p4ss@host/database', false],
    ['redis://:p4%ss@host', false],
    ['redis://host?db=1', false],
    ['redis://host', true],
    ['rediss://user:p4ss%40@host:6380/2', true],
  ])('%s is an address: %s', (url, isAddress) => {
    const read = () => readConfig({ GMSI_REDIS_URL: url }, '/nowhere').redisUrl?.reveal();
    if (isAddress) expect(read()).toBe(url);
    else expect(read).toThrow(/^GMSI_REDIS_URL is not the address of a Redis\.$/);
  });
});

/** Three jobs, a warehouse of their own, and a sandbox that judges the limit. */
async function aSetting(env: Record<string, string> = {}) {
  const folder = await aFolder();
  const warehouse = await aWarehouse();
  const sandbox = await startSandbox({ limits: { perSecond, burst }, volume: 0.1 });
  const jobs = ['US', 'DE', 'FR'];
  for (const country of jobs) await folder.write(`jobs/${country}.yaml`, jobOf(country));
  const run = { cwd: folder.path, env: { ...accessTo(warehouse, sandbox), ...env } };
  return {
    ...{ jobs, sandbox, db: warehouse.db },
    gmsi: (command: string) => gmsi([command], run),
    backfill: (job: string) => gmsi(['backfill', job], run),
    statuses: () => Object.keys(sandbox.stats().byStatus),
    hasAnswered: (requests: number) =>
      vi.waitFor(() => expect(sandbox.stats().requests).toBeGreaterThan(requests), 60_000),
    async [Symbol.asyncDispose]() {
      await sandbox.stop();
      await warehouse[Symbol.asyncDispose]();
      await folder[Symbol.asyncDispose]();
    },
  };
}
