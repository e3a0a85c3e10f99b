import { afterAll } from 'vitest';
import { type SandboxOptions, startSandbox } from '#sandbox';
import { aWarehouse } from '../support/test-warehouse.ts';
import { accessTo, aFolder } from './gmsi.ts';

/** A folder, a sandbox without limits and a warehouse, and the setting of somebody who works with them. */
export async function aPlace(options: SandboxOptions = {}) {
  const [folder, sandbox, warehouse] = await Promise.all([
    aFolder(),
    startSandbox({ limits: null, ...options }),
    aWarehouse(),
  ]);
  const setting = { cwd: folder.path, env: accessTo(warehouse, sandbox) };
  return {
    folder,
    sandbox,
    warehouse,
    setting,
    async [Symbol.asyncDispose]() {
      for (const own of [warehouse, sandbox, folder]) await own[Symbol.asyncDispose]();
    },
  };
}

/** One for all tests of a file, gone after them. */
export async function aPlaceForAll(options: SandboxOptions = {}) {
  const place = await aPlace(options);
  afterAll(() => place[Symbol.asyncDispose]());
  return place;
}
