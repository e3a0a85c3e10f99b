import type { Session } from '../compose.ts';
import { requestLimit } from '../pipeline/request-budget.ts';
import { sync } from '../pipeline/sync.ts';
import { runJobs } from './run-jobs.ts';

/** `gmsi sync <job>…`; may spend the reserve that backfills leave. */
export function syncCommand(session: Session, names: string[]): Promise<number> {
  return runJobs(session, names, { run: sync, limit: ({ budget }) => requestLimit('sync', budget) });
}
