import { afterAll } from 'vitest';
import { type SandboxOptions, startSandbox } from '../../src/sandbox/index.ts';
import { usualClock } from './run-backfill.ts';
import { aWarehouse } from './test-warehouse.ts';

/** A warehouse for all tests of the file that calls this at its top. */
export async function aWarehouseForAll(wanted?: Parameters<typeof aWarehouse>[0]) {
  const warehouse = await aWarehouse(wanted);
  afterAll(() => warehouse[Symbol.asyncDispose]());
  return warehouse;
}

/** The same for a sandbox, whose time is that of the loads, unless the options name another. */
export async function aSandboxForAll(options?: SandboxOptions) {
  const sandbox = await startSandbox({ clock: usualClock, ...options });
  afterAll(() => sandbox.stop());
  return sandbox;
}
