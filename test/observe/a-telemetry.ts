import type { Job } from '../../src/config/job.ts';
import { startTelemetry, type Telemetry, type TelemetryOptions } from '../../src/observe/start-telemetry.ts';
import { Secret } from '../../src/secret.ts';
import type { Warehouse } from '../../src/warehouse/connect.ts';
import { aLog } from '../support/a-log.ts';

export const now = new Date('2026-11-20T12:00:00Z');

export const aConfig: TelemetryOptions['config'] = {
  apiKey: new Secret('sandbox-key'),
  alertWebhook: undefined,
  proxyFor: undefined,
  leaseSeconds: 30,
  serveToken: undefined,
  metrics: { host: '127.0.0.1', port: 0, names: [] },
};

/** Telemetry as `gmsi work` would start it, on a port of its own. */
export function aTelemetry(
  warehouse: Warehouse,
  jobs: readonly Job[],
  changes: Partial<TelemetryOptions> = {},
): Promise<Telemetry> {
  return startTelemetry({
    config: aConfig,
    warehouse,
    runBy: 'test',
    log: aLog().log,
    clock: () => now,
    jobs: async () => jobs,
    stop: new AbortController().signal,
    ...changes,
  });
}

/** Every sample of a scrape, `name{label="value"}` to its value. */
export async function scrape({ url }: Pick<Telemetry, 'url'>): Promise<Record<string, number>> {
  const answer = await fetch(`${url}/metrics`);
  if (!answer.ok) throw new Error(`/metrics answered ${answer.status}`);
  const lines = (await answer.text()).split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return Object.fromEntries(
    lines.map((line) => {
      const [, sample = '', value] = /^(\S+(?:\{.*\})?) (\S+)$/.exec(line) ?? [];
      return [sample, Number(value)];
    }),
  );
}

/** The samples of one metric that are not zero, by the value of a label. */
export function byLabel(
  samples: Readonly<Record<string, number>>,
  metric: string,
  label: string,
): Record<string, number> {
  const sums: Record<string, number> = {};
  for (const [sample, value] of Object.entries(samples)) {
    const of = new RegExp(`^${metric}\\{.*\\b${label}="([^"]*)"`).exec(sample)?.[1];
    if (of !== undefined && value !== 0) sums[of] = (sums[of] ?? 0) + value;
  }
  return sums;
}
