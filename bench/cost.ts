import { backfill, type LoadedJob } from './processes.ts';
import type { BenchServer } from './server.ts';
import type { Verdict } from './statistics.ts';

/** CPU time of one page or window, in seconds. */
interface Cost {
  readonly gmsi: number;
  readonly postgres: number;
}

/**
 * Loads a job, and says what each of its pages or windows costs: the program, without what its process costs anyway, and
 * PostgreSQL, with rollups and revisions.
 */
export async function costOf(
  server: BenchServer,
  service: string,
  job: object,
  each: 'pages' | 'windows',
): Promise<{ readonly loaded: LoadedJob; readonly cost: Cost }> {
  const addresses = { service, warehouse: await server.aWarehouse() };
  const before = await server.cpuSeconds();
  const loaded = await backfill(job, addresses);
  const postgres = (await server.cpuSeconds()) - before;
  // Finds everything covered.
  const idle = await backfill(job, addresses);
  const many = loaded[each];
  return {
    loaded,
    cost: { gmsi: (loaded.cpuSeconds - idle.cpuSeconds) / many, postgres: postgres / many },
  };
}

/** @param what what is loaded, such as `a page` */
export function costVerdicts(what: string, cost: Cost, most: Cost): Verdict[] {
  const ms = (seconds: number) => `${(seconds * 1000).toFixed(1)} ms`;
  return (['gmsi', 'postgres'] as const).map((who) => ({
    goal: `CPU of ${who} ${what}: at most ${ms(most[who])}`,
    measured: ms(cost[who]),
    met: cost[who] <= most[who],
  }));
}
