import type { Sandbox } from '#sandbox';
import type { Job } from '../../src/config/job.ts';
import { defaultServiceSettings } from '../../src/config/service-schema.ts';
import { mostRequests } from '../../src/probe/ask.ts';
import type { FactName } from '../../src/probe/fact.ts';
import { type Lesson, type ProbeReport, probeService } from '../../src/probe/probe-service.ts';
import { Secret } from '../../src/secret.ts';
import { createClient } from '../../src/service/client.ts';
import type { Clock } from '../../src/service/clock.ts';
import { capRequests, openPermits } from '../../src/service/permits.ts';
import type { Warehouse } from '../../src/warehouse/connect.ts';

export interface ProbeRun {
  readonly db: Warehouse;
  readonly sandbox: Pick<Sandbox, 'url'>;
  /** Time as this machine sees it; give the sandbox the same. */
  readonly clock: Clock;
  readonly job?: Job;
  readonly acceptsChanges?: boolean;
}

/** Runs a probe as `gmsi doctor --probe` would, in this process. */
export async function runProbe({ db, sandbox, clock, ...about }: ProbeRun): Promise<ProbeReport> {
  const apiKey = new Secret('sandbox-key');
  const service = about.job?.service ?? defaultServiceSettings;
  const month = { budget: 250_000, clock: () => new Date(clock.now()) };
  await using client = createClient({
    baseUrl: sandbox.url,
    apiKey,
    settings: { ...service, maxAttempts: 2, concurrency: 1 },
    permits: capRequests(mostRequests)(openPermits(db, apiKey, { ...service, ...month })),
    userAgent: 'test',
    patience: { firstDelayMs: 1, maxDelayMs: 20, rateLimitPauseMs: [10, 20] },
  });
  const signal = new AbortController().signal;
  return await probeService({ ...{ job: undefined, ...about }, warehouse: db, client, clock, signal });
}

/** What a probe found for each fact; `null` if it found nothing. */
export function foundBy({ lessons }: ProbeReport): Record<FactName, Lesson['value']> {
  return Object.fromEntries(lessons.map(({ fact, value }) => [fact, value])) as Record<
    FactName,
    Lesson['value']
  >;
}
