import { type SandboxOptions, startSandbox } from '#sandbox';
import { aWarehouse } from './test-warehouse.ts';

/** A warehouse, a service, and a clock that both have and that a test moves. */
export async function aMovingService(begin: string, options: SandboxOptions) {
  let now = begin;
  const clock = () => new Date(now);
  const warehouse = await aWarehouse();
  const sandbox = await startSandbox({ limits: null, clock, ...options });
  return {
    db: warehouse.db,
    url: warehouse.url,
    sandbox,
    clock,
    moveTo: (instant: string) => {
      now = instant;
    },
    async [Symbol.asyncDispose]() {
      await sandbox.stop();
      await warehouse[Symbol.asyncDispose]();
    },
  };
}
