import { afterAll } from 'vitest';
import { type SandboxOptions, startSandbox } from '#sandbox';
import { aWarehouse } from './test-warehouse.ts';

/** A warehouse for all tests of the file that calls this at its top. */
export async function aWarehouseForAll(wanted?: Parameters<typeof aWarehouse>[0]) {
  const warehouse = await aWarehouse(wanted);
  afterAll(() => warehouse[Symbol.asyncDispose]());
  return warehouse;
}

/** The same for a sandbox without limits. */
export async function aSandboxForAll(options?: SandboxOptions) {
  const sandbox = await startSandbox({ limits: null, ...options });
  afterAll(() => sandbox.stop());
  return sandbox;
}
