import type { Secret } from '../secret.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import { coverageEndpoints, failuresEndpoint } from './coverage.ts';
import { indexEndpoints } from './indices.ts';
import { jobsEndpoint } from './jobs.ts';
import { contentsEndpoints, runsEndpoints } from './runs.ts';
import { sentimentEndpoints } from './sentiment.ts';

/**
 * Returns all endpoints. Their type tells the page each path and the row of its answer.
 * @param cwd the folder whose `jobs/` are shown
 */
export function allEndpoints(
  warehouse: Warehouse,
  of: {
    readonly cwd: string;
    readonly leaseSeconds: number;
    readonly apiKey: Secret | undefined;
    readonly clock: () => Date;
  },
) {
  return [
    ...contentsEndpoints,
    ...coverageEndpoints,
    ...sentimentEndpoints,
    ...indexEndpoints,
    ...runsEndpoints(of),
    jobsEndpoint(warehouse, of),
    failuresEndpoint(warehouse, of),
  ];
}
