import { jobFacts, type Session } from '../compose.ts';
import { ConfigError } from '../errors.ts';
import { jobFromDefinition } from '../job/definition.ts';
import type { Job } from '../job/job.ts';
import { startTelemetry, type Telemetry } from '../telemetry/start-telemetry.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import { storedJobs } from '../warehouse/queries/telemetry.ts';
import type { WorkerEvents } from '../worker/events.ts';
import { wholeNumber } from './whole-number.ts';

/**
 * Lets a worker be watched: metrics, health and alerts for every job that the workers know. Those whose files are here
 * bring their webhooks, which the warehouse does not hold.
 * @param metricsPort as given on the command line, where it was
 */
export async function watchWork(
  session: Session,
  warehouse: Warehouse,
  {
    ownJobs,
    events,
    metricsPort,
  }: { ownJobs: readonly Job[]; events: WorkerEvents; metricsPort: string | undefined },
): Promise<Telemetry> {
  const { config, log, clock, stop } = session;
  const { host, port: usual } = config.metrics;
  const port = metricsPort === undefined ? usual : wholeNumber('--metrics-port', metricsPort);
  const own = new Map(ownJobs.map((job) => [job.name, job]));

  async function jobs(): Promise<Job[]> {
    const stored = await storedJobs(warehouse);
    return stored.flatMap(({ job, definition }) => {
      const known = own.get(job) ?? fromDefinition(job, definition);
      return known ? [known] : [];
    });
  }

  function fromDefinition(job: string, definition: Readonly<Record<string, unknown>>): Job | undefined {
    try {
      return jobFromDefinition(job, definition, jobFacts(session));
    } catch (error) {
      // Another version of the program has stored it, and watches it.
      if (error instanceof ConfigError) return undefined;
      throw error;
    }
  }

  const watched = { ...config, metrics: { host, port } };
  const telemetry = await startTelemetry({ config: watched, warehouse, log, clock, jobs, stop });
  events.subscribe(telemetry.onWorkerEvent);
  return telemetry;
}
