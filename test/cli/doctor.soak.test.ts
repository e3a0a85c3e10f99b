import { expect } from 'vitest';
import { startSandbox } from '#sandbox';
import { it } from '../support/serving.ts';
import { aFolder, gmsi } from './gmsi.ts';

it('shows what a probe found out although the clock of the service is wrong', async ({ warehouse }) => {
  await using folder = await aFolder();
  const days = 6 * 24 * 3_600_000;
  await using sandbox = await startSandbox({
    limits: null,
    volume: 0,
    clock: () => new Date(Date.now() - days),
  });
  const env = { DATABASE_URL: warehouse.url, GMSI_BASE_URL: sandbox.url, GMSI_API_KEY: 'sandbox-key' };
  const { code, stdout } = await gmsi(['doctor', '--probe', '--json'], { cwd: folder.path, env });
  expect(code).toBe(2);
  const { findings, probe } = JSON.parse(stdout);
  expect(findings).toContainEqual(
    expect.objectContaining({
      check: 'service',
      ok: false,
      found: expect.stringContaining("behind this machine's"),
    }),
  );
  expect(probe.facts).toHaveLength(4);
});
