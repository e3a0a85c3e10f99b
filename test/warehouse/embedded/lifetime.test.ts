import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { gmsi, startGmsi } from '../../cli/gmsi.ts';
import { anEmbeddedHome } from '../../support/embedded-home.ts';
import { allProcesses, hasProc, programsThatSee } from './processes.ts';
import { home, nothingRuns, postmaster, setting, withHome } from './staying.ts';

withHome();

it.skipIf(!hasProc)(
  'the server runs on for some seconds, so that the next command need not start it, and then stops',
  async () => {
    await anEmbeddedHome(home);
    const query = ['psql', '-c', 'select 1'];
    const idle = { ...setting, env: { ...setting.env, GMSI_EMBEDDED_IDLE_SECONDS: '5' } };
    expect(await gmsi(query, idle)).toMatchObject({ code: 0 });
    const server = await postmaster();
    expect(server).toBeDefined();
    expect(await gmsi(query, idle)).toMatchObject({ code: 0 });
    expect(await postmaster()).toBe(server);
    await nothingRuns();
  },
);

it.skipIf(!hasProc)('no program that is started sees the key or an address', async () => {
  const secrets = ['k3y-0f-some0ne', 'hooks.example.com', 'passw0rd'];
  const env = {
    GMSI_API_KEY: secrets[0]!,
    GMSI_BASE_URL: 'http://127.0.0.1:1',
    GMSI_ALERT_WEBHOOK_URL: `https://${secrets[1]}/x`,
    GMSI_REDIS_URL: `redis://:${secrets[2]}@127.0.0.1:1`,
    OTEL_EXPORTER_OTLP_HEADERS: `authorization=${secrets[2]}`,
    OTEL_SDK_DISABLED: 'true',
  };
  const others = allProcesses();
  const user = startGmsi(['psql', '--address'], { ...setting, env: { ...setting.env, ...env } });
  const seeing = new Set<string>();
  while (!/^postgres:.*\n/.test(user.stdout)) {
    for (const program of programsThatSee(secrets, others)) seeing.add(program);
    // A program takes longer than this.
    await sleep(5);
    if (seeing.size > 0) break;
  }
  expect([...seeing, ...programsThatSee(secrets, others)]).toEqual([]);
  // What is looked at is there: the server runs, and shows its environment.
  expect(programsThatSee(['LC_ALL=C'], others).join()).toMatch(/postgres/);
  user.kill('SIGINT');
  expect(await user.ended).toMatchObject({ code: 0 });
});
