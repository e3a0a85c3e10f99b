import { setMaxListeners } from 'node:events';
import { request } from 'undici';
import { expect, onTestFinished } from 'vitest';
import { type RateLimit, sharedLimiter } from '../../src/rate/shared-rate.ts';
import { type Sandbox, startSandbox } from '../../src/sandbox/index.ts';
import { Secret } from '../../src/secret.ts';
import type { Warehouse } from '../../src/warehouse/connect.ts';
import { aWarehouse } from '../support/test-warehouse.ts';

export const apiKey = new Secret('sandbox-key');
export const limit: RateLimit = { rate: 40, burst: 40 };

/** Stands for a process. */
export interface Asker {
  readonly sent: () => number;
  readonly stop: () => Promise<void>;
}

/** A sandbox that judges the limit, a warehouse, and askers that stand for processes: nothing is shared but these. */
export async function aSetting() {
  const warehouse = await aWarehouse({ connections: 12 });
  const sandbox = await startSandbox({ limits: { perSecond: limit.rate, burst: limit.burst } });
  const arrivals: number[] = [];
  const note = () => {
    arrivals.push(performance.now() / 1000);
    return false;
  };
  sandbox.script([{ kind: 'latency', match: note }]);
  return {
    db: warehouse.db,
    arrivals,
    asker: () => anAsker(sandbox, warehouse.db),
    async expectWithinLimit() {
      expect(Object.keys(sandbox.stats().byStatus)).toEqual(['200']);
      expect(mostOver(arrivals)).toBeLessThanOrEqual(0);
    },
    async [Symbol.asyncDispose]() {
      await sandbox.stop();
      await warehouse[Symbol.asyncDispose]();
    },
  };
}

/** Eight requests at a time, as fast as the rate allows. */
function anAsker(sandbox: Sandbox, warehouse: Warehouse): Asker {
  const limiter = sharedLimiter(warehouse, apiKey, limit);
  const end = new AbortController();
  setMaxListeners(0, end.signal);
  let sent = 0;
  const ask = async () => {
    while (!end.signal.aborted) {
      await limiter.pass(end.signal);
      sent++;
      const { body } = await request(`${sandbox.url}/v1/countries`, {
        headers: { 'x-api-key': apiKey.reveal() },
      });
      await body.dump();
    }
  };
  const asking = Promise.allSettled(Array.from({ length: 8 }, ask));
  const stop = async () => {
    end.abort();
    await asking;
  };
  onTestFinished(stop);
  return { sent: () => sent, stop };
}

export async function stopAll(askers: readonly Asker[]): Promise<void> {
  await Promise.all(askers.map(({ stop }) => stop()));
}

/** By how many requests any stretch of time goes over burst + rate × its length, at worst. */
function mostOver(arrivals: readonly number[]): number {
  // As a bucket that leaks: how full it is at the worst moment says so for every stretch that ends there.
  let [inBucket, last, worst] = [0, arrivals[0]!, 0];
  for (const at of arrivals) {
    inBucket = Math.max(0, inBucket - (at - last) * limit.rate) + 1;
    worst = Math.max(worst, inBucket);
    last = at;
  }
  return worst - limit.burst;
}
