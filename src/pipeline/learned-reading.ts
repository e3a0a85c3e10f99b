import type { EndDateReading, Job } from '../job/job.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import { readLearnedEndDate } from '../warehouse/queries/learned-facts.ts';
import type { RunContext } from './open-load.ts';
import { withWarehouseRetries } from './warehouse-retries.ts';

/** How a job's windows read `end_date`, and who says so. */
export interface ReadingInForce {
  readonly reading: EndDateReading;
  readonly by: 'job' | 'probe' | 'nobody';
  /** What a probe has learned, where the job says otherwise. */
  readonly contradicted: EndDateReading | null;
}

/**
 * A job with the reading of `end_date` that is in force: its own, else the one that `gmsi doctor --probe` has learned for
 * its feed. The one place where `unknown` becomes something better, so that plans and runs cut the same windows.
 */
export async function withLearnedReading(
  warehouse: Warehouse,
  job: Job,
): Promise<{ readonly job: Job; readonly endDate: ReadingInForce }> {
  const row = await withWarehouseRetries(() => readLearnedEndDate(warehouse, job.feed));
  const learned = row?.value === 'inclusive' || row?.value === 'exclusive' ? row.value : null;
  const own = job.service.endDate;
  if (own !== 'unknown') {
    const contradicted = learned !== null && learned !== own ? learned : null;
    return { job, endDate: { reading: own, by: 'job', contradicted } };
  }
  if (learned === null) return { job, endDate: { reading: own, by: 'nobody', contradicted: null } };
  return {
    job: { ...job, service: { ...job.service, endDate: learned } },
    endDate: { reading: learned, by: 'probe', contradicted: null },
  };
}

/** The same for a run, which warns where its job contradicts what was learned. */
export async function runWithLearnedReading<Context extends RunContext>(context: Context): Promise<Context> {
  const { job, endDate } = await withLearnedReading(context.warehouse, context.job);
  if (endDate.contradicted !== null) context.log.warn({ job: job.name }, contradiction(endDate));
  return { ...context, job };
}

export function contradiction({ reading, contradicted }: ReadingInForce): string {
  const loss = reading === 'inclusive' ? "each window's last day would be lost" : 'a day is loaded twice';
  return `service.end_date is ${reading} in the job, but a probe has found it ${contradicted}; if the probe is right, ${loss}`;
}
