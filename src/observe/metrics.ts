import type { Channel } from 'node:diagnostics_channel';
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { catalog } from '../feeds/catalog.ts';
import { type CommittedPage, pageStages, published, type StageContext } from '../load/stages.ts';
import { version } from '../package.ts';
import type { ClientEvent } from '../service/client.ts';
import { requestOutcomes } from '../service/errors.ts';

const recordOutcomes = ['inserted', 'changed', 'unchanged', 'retracted', 'rejected', 'outside'] as const;

/** In seconds: from a page that is read in a millisecond to a fetch that waits for minutes. */
const buckets = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 120];

/** The `feed` of requests for countries, topics, tickers and other lists. */
const lookups = 'lookups';

/**
 * Creates a registry with the metrics of this process, and functions that count events. What loads publish is counted until
 * the result is disposed of. Each count begins at zero, so that rates see its first increase.
 */
export function createMetrics() {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });

  const requests = new Counter({
    name: 'gmsi_requests_total',
    help:
      'Requests sent to the service by this process, including retries, by outcome. ok: a good answer; malformed: a good ' +
      'status with an unexpected body; network: no answer; aborted: given up because the process was shutting down.',
    labelNames: ['feed', 'outcome'] as const,
    registers,
  });
  const records = new Counter({
    name: 'gmsi_records_total',
    help:
      'Records committed by this process, by result: inserted (a new row), changed (a new version of a row), unchanged (the ' +
      'row exists already), rejected (unreadable, stored in gmsi.rejected_records), outside (of days that were not ' +
      'requested, not loaded); and retracted: rows that the service no longer returns.',
    labelNames: ['feed', 'outcome'] as const,
    registers,
  });
  const stageSeconds = new Histogram({
    name: 'gmsi_stage_duration_seconds',
    help:
      'Time that a page or live answer takes at each stage: fetch (including waits for the rate limit and between tries), ' +
      'read (records to rows), commit (its transaction).',
    labelNames: ['stage'] as const,
    buckets,
    registers,
  });
  const build = new Gauge({
    name: 'gmsi_build_info',
    help: 'Always 1; the label says which version of the program this is.',
    labelNames: ['version'] as const,
    registers,
  });

  build.set({ version }, 1);
  for (const feed of catalog.keys()) for (const outcome of recordOutcomes) records.inc({ feed, outcome }, 0);
  for (const feed of [...catalog.keys(), lookups])
    for (const outcome of requestOutcomes) requests.inc({ feed, outcome }, 0);
  for (const stage of pageStages) stageSeconds.zero({ stage });

  const begunAt = new WeakMap<StageContext, number>();
  const hearing = pageStages.flatMap((stage) => {
    const { start, asyncEnd } = published.stages[stage];
    return [
      hear<StageContext>(start, (context) => begunAt.set(context, performance.now())),
      hear<StageContext>(asyncEnd, (context) => {
        const since = begunAt.get(context);
        if (since !== undefined) stageSeconds.observe({ stage }, (performance.now() - since) / 1000);
      }),
    ];
  });
  hearing.push(hear(published.committed, countPage));

  function countPage({ feed, counts }: CommittedPage): void {
    const { rows_inserted: inserted, rows_changed: changed, rows_retracted: retracted } = counts;
    const { records_rejected: rejected, records_outside: outside, records: all } = counts;
    // A record that a page contains twice is rejected or written only once.
    const unchanged = Math.max(0, all - inserted - changed - rejected - outside);
    const counted = { inserted, changed, unchanged, retracted, rejected, outside };
    for (const outcome of recordOutcomes) records.inc({ feed, outcome }, counted[outcome]);
  }

  return {
    registry,
    [Symbol.dispose]() {
      for (const end of hearing) end();
    },
    onClientEvent(event: ClientEvent): void {
      if (event.type !== 'request') return;
      requests.inc({ feed: event.feed ?? lookups, outcome: event.outcome });
    },
  };
}

/** Subscribes to a channel. @returns a function that ends the subscription */
function hear<Message>(
  channel: Pick<Channel, 'subscribe' | 'unsubscribe'>,
  heard: (message: Message) => void,
): () => void {
  const listener = (message: unknown) => heard(message as Message);
  channel.subscribe(listener);
  return () => void channel.unsubscribe(listener);
}
