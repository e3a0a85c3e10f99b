import { expect } from 'vitest';
import { Secret } from '../../src/secret.ts';
import { createLog } from '../../src/terminal/log.ts';
import { connect, type Warehouse } from '../../src/warehouse/connect.ts';
import { keepProcess } from '../../src/warehouse/keep-process.ts';
import { aCuttingProxy } from '../support/cutting-proxy.ts';
import { it } from '../support/serving.ts';
import { countRows, sqlIn } from '../support/warehouse-state.ts';

const about = { command: 'test', run_by: 'test', version: 'test', concurrency: null };
const log = createLog({ level: 'silent', readable: false });

/** A process whose heart beats only when told to. */
const aQuietProcess = (db: Warehouse, onRestore: () => Promise<void>) =>
  keepProcess(db.patient({}), about, { leaseSeconds: 3600, log, onRestore });

it.for([1, 2])('restores although reply %i of the heartbeat is lost', async (nth, { warehouse, db }) => {
  await using proxy = await aCuttingProxy(warehouse.url);
  await using cut = connect({ kind: 'url', url: new Secret(proxy.url) }, 2);
  let restored = 0;
  await using process = await aQuietProcess(cut, async () => {
    restored++;
  });
  expect(restored).toBe(0);
  await sqlIn(db)`delete from gmsi.processes`;
  proxy.loseReplyTo(/"gmsi"\."processes"/, nth);
  await process.beat();
  expect(restored).toBeGreaterThan(0);
  expect(await countRows(db, 'processes')).toBe(1);
  const once = restored;
  await process.beat();
  expect(restored).toBe(once);
});

it('does what a restore asks for with the next heartbeat if that failed', async ({ db }) => {
  let restored = 0;
  await using process = await aQuietProcess(db, async () => {
    if (++restored === 1) throw new Error('not now');
  });
  await sqlIn(db)`delete from gmsi.processes`;
  await expect(process.beat()).rejects.toThrow('not now');
  await process.beat();
  expect(restored).toBe(2);
  expect(await countRows(db, 'processes')).toBe(1);
});
