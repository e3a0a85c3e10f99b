import { Temporal } from 'temporal-polyfill';
import type { EndDateReading, HistoryLimit, Job } from '../job/job.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import { readLearnedFacts } from '../warehouse/queries/learned-facts.ts';
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
 * A job with what is in force: its own reading of `end_date` and history limit, else those that `gmsi doctor --probe` has learned
 * for its feed. The one place where what is not known becomes something better, so that plans and runs cut the same windows.
 */
export async function withLearnedReading(
  warehouse: Warehouse,
  asked: Job,
): Promise<{ readonly job: Job; readonly endDate: ReadingInForce }> {
  const facts = await withWarehouseRetries(() => readLearnedFacts(warehouse, asked.feed));
  const learnedAs = (name: string) => facts.find(({ fact }) => fact === name)?.value;
  const job = { ...asked, historyLimit: asked.historyLimit ?? learnedLimit(learnedAs('history_limit')) };
  const value = learnedAs('end_date');
  const learned = value === 'inclusive' || value === 'exclusive' ? value : null;
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

/**
 * The day after the youngest one that a probe saw refused. Whether the limit moves on with the calendar, a probe cannot
 * tell, and a day that stays loses nothing: at the worst, days are asked for that have become too old.
 */
function learnedLimit(value: unknown): HistoryLimit | undefined {
  const { refused, answered } = (value ?? {}) as { refused?: unknown; answered?: unknown };
  if (typeof refused !== 'string' || typeof answered !== 'string' || refused >= answered) return undefined;
  return { reach: Temporal.PlainDate.from(refused).add({ days: 1 }), by: 'probe' };
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
