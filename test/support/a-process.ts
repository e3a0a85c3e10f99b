import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import type { Log } from '../../src/log.ts';
import { createLog } from '../../src/terminal/log.ts';
import type { Warehouse } from '../../src/warehouse/connect.ts';
import { type KeptProcess, keepProcess } from '../../src/warehouse/keep-process.ts';
import { startLoad } from '../../src/warehouse/tables/loads.ts';
import { registerProcess } from '../../src/warehouse/tables/processes.ts';

const about = { command: 'test', run_by: 'test', version: 'test', concurrency: null };

/** Registers a process as a command does. */
export function aProcess(
  db: Warehouse,
  {
    leaseSeconds = 30,
    log = createLog({ level: 'silent', readable: false }),
  }: { leaseSeconds?: number; log?: Log } = {},
): Promise<KeptProcess> {
  return keepProcess(db.patient({}), about, { leaseSeconds, log });
}

/** Lists a process as its first heartbeat does. */
export const listed = (db: Warehouse, process_id: string, command = 'work') =>
  registerProcess(db, { process_id, ...about, command });

/** Registers a load of a process that sends one heartbeat. @returns the id of the load */
export async function aLoad(db: Warehouse, run_by = 'test'): Promise<number> {
  const processId = randomUUID();
  await listed(db, processId, about.command);
  const load = { command: 'backfill', job: 'job', feed: 'gmsi-headlines' };
  return (await startLoad(db, { processId, runBy: run_by }, load)).loadId;
}

/** Lets the process of a load have sent its last heartbeat an hour ago. */
export async function silence(db: Warehouse, loadId: number): Promise<void> {
  await sql`
    update gmsi.processes set heartbeat_at = now() - interval '1 hour'
    where process_id = (select process_id from gmsi.loads where load_id = ${loadId})`.execute(db);
}
