import { expect, test } from 'vitest';
import { startSandbox } from '../src/index.ts';

// All of 127.0.0.0/8 is this machine on Linux; elsewhere only 127.0.0.1 is.
const onLinux = test.skipIf(process.platform !== 'linux');

onLinux('a sandbox is reached at 127.0.0.1 alone', async () => {
  await using sandbox = await startSandbox();
  expect(sandbox.url).toBe(`http://127.0.0.1:${sandbox.port}`);
  expect((await fetch(`${sandbox.url}/_sandbox/stats`)).status).toBe(200);
  await expect(fetch(`http://127.0.0.2:${sandbox.port}/_sandbox/stats`)).rejects.toThrow();
});
