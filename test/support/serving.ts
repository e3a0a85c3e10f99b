import { test as plain } from 'vitest';
import { type Sandbox, type SandboxOptions, startSandbox } from '../../src/sandbox/index.ts';
import type { Warehouse } from '../../src/warehouse/connect.ts';
import { aWarehouse, type TestWarehouse } from './test-warehouse.ts';

/** A test that gets a warehouse of its own if it names `warehouse` or `db`. */
export const test = plain.extend<{ readonly warehouse: TestWarehouse; readonly db: Warehouse }>({
  // biome-ignore lint/correctness/noEmptyPattern: vitest reads here which fixtures this one needs.
  async warehouse({}, use) {
    await using warehouse = await aWarehouse();
    await use(warehouse);
  },
  db: ({ warehouse }, use) => use(warehouse.db),
});
export const it = test;

/** The same, for a file whose tests have a sandbox of their own, too: each that names `sandbox` gets one with these options. */
export function serving(options: SandboxOptions) {
  return test.extend<{ readonly sandbox: Sandbox }>({
    // biome-ignore lint/correctness/noEmptyPattern: vitest reads here which fixtures this one needs.
    async sandbox({}, use) {
      await using sandbox = await startSandbox(options);
      await use(sandbox);
    },
  });
}
