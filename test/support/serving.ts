import { test as plain } from 'vitest';
import { type Sandbox, type SandboxOptions, startSandbox } from '#sandbox';
import type { Warehouse } from '../../src/warehouse/connect.ts';
import { usualClock } from './run-backfill.ts';
import { aWarehouse, type TestWarehouse, type Wanted } from './test-warehouse.ts';

interface Held {
  /** How the warehouse is to be, for a file that replaces it by `test.extend({ wanted: { isNew: true } })`. */
  readonly wanted: Wanted;
  readonly warehouse: TestWarehouse;
  readonly db: Warehouse;
}

/** A test that gets a warehouse of its own if it names `warehouse` or `db`. */
export const test = plain.extend<Held>({
  wanted: {},
  async warehouse({ wanted }, use) {
    await using warehouse = await aWarehouse(wanted);
    await use(warehouse);
  },
  db: ({ warehouse }, use) => use(warehouse.db),
});
export const it = test;

/** The service without limits at the time of the tests, unless the options say otherwise. */
export function aSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  return startSandbox({ limits: null, clock: usualClock, ...options });
}

/** The same, for a file whose tests have a sandbox of their own, too: each that names `sandbox` gets one with these options. */
export function serving(options: SandboxOptions = {}) {
  return test.extend<{ readonly served: SandboxOptions; readonly sandbox: Sandbox }>({
    served: options,
    async sandbox({ served }, use) {
      await using sandbox = await aSandbox(served);
      await use(sandbox);
    },
  });
}
