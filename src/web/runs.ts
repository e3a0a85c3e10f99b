import { z } from 'zod';
import type { Secret } from '../secret.ts';
import { countedAs, monthOf } from '../service/budget.ts';
import {
  fullestSeries,
  knownSince,
  listedSeries,
  loadedFeeds,
  namedMoments,
  servedBy,
  topicRules,
} from '../warehouse/questions/contents.ts';
import {
  arrivalDelays,
  fieldChanges,
  lastChecks,
  lastLoads,
  livingWorkers,
  openAlerts,
  requestsByKey,
  rescorings,
} from '../warehouse/questions/runs.ts';
import { endpoint, exactTime, period, text } from './endpoint.ts';

const nothing = z.object({});
const count = z.int();

export const contentsEndpoints = [
  endpoint('feeds', 'What is loaded, by feed and match type', {
    takes: nothing,
    row: z.object({
      feed: z.string(),
      match_type: z.string(),
      series: count,
      oldest: z.string(),
      newest: z.string(),
    }),
    ask: () => loadedFeeds,
  }),
  endpoint('series', 'The countries and topics that the service lists, and the loaded tickers of its list', {
    takes: nothing,
    row: z.object({
      kind: z.enum(['country', 'topic', 'ticker']),
      code: z.string(),
      name: z.string().nullable(),
    }),
    ask: () => listedSeries,
  }),
  endpoint('topics/rules', 'The rules by which the service scores headlines of a topic, by model', {
    takes: z.object({ topic: text(200) }),
    row: z.object({ model: z.string(), rule: z.string() }),
    ask: ({ topic }) => topicRules(topic),
  }),
  endpoint('series/fullest', 'The series of a feed with the most records in its last year', {
    takes: z.object({
      feed: text(100).describe('A feed, such as gmsi-headlines.'),
      limit: z.coerce.number().pipe(z.int().min(1).max(100)).default(10),
    }),
    row: z.object({
      feed: z.string(),
      country: z.string(),
      topic: z.string(),
      ticker: z.string(),
      match_type: z.string(),
      variant: z.string(),
      records: count,
    }),
    ask: ({ feed, limit }) => fullestSeries(feed, limit),
  }),
  endpoint('loads/known', 'Since when rows of a feed are known, and when a load last changed some', {
    takes: z.object({ feed: text(100).describe('A feed, such as gmsi-headlines.') }),
    row: z.object({ first_at: exactTime.nullable(), changed_at: exactTime.nullable() }),
    ask: ({ feed }) => knownSince(feed),
  }),
  endpoint('moments', 'Moments that have a name (gmsi snapshot), the newest first', {
    takes: nothing,
    row: z.object({ name: z.string(), at: exactTime, note: z.string().nullable() }),
    ask: () => namedMoments,
  }),
  endpoint('origin', 'Whether the headlines are real or from a sandbox', {
    takes: nothing,
    row: z.object({ served_by: z.enum(['service', 'sandbox']) }),
    ask: () => servedBy,
  }),
];

/** @param leaseSeconds seconds without a heartbeat after which a load or a worker counts as gone */
export function runsEndpoints({
  leaseSeconds,
  apiKey,
  clock,
}: {
  readonly leaseSeconds: number;
  readonly apiKey: Secret | undefined;
  readonly clock: () => Date;
}) {
  const ownKey = apiKey ? countedAs(apiKey) : null;
  return [
    endpoint('loads', 'The last loads, running ones first', {
      takes: z.object({ limit: z.coerce.number().pipe(z.int().min(1).max(500)).default(50) }),
      row: z.object({
        load_id: z.int(),
        job: z.string(),
        command: z.string(),
        feed: z.string(),
        state: z.string(),
        started_at: exactTime,
        ended_at: exactTime,
        requests: count,
        windows_planned: count.nullable(),
        windows_drained: count,
        windows_failed: count,
        records: count,
        rows_inserted: count,
        rows_changed: count,
        rows_retracted: count,
        records_rejected: count,
        error: z.string().nullable(),
        run_by: z.string(),
      }),
      isLive: true,
      ask: ({ limit }) => lastLoads(leaseSeconds, limit),
    }),
    endpoint('loads/rescorings', 'The last loads in which the service had given many headlines new scores', {
      takes: z.object(period).describe('Loads that rescored headlines published on these days.'),
      row: z.object({
        load_id: z.int(),
        command: z.string(),
        job: z.string(),
        started_at: exactTime,
        headlines: count,
        known_headlines: count.describe('Those that the load met and that were known before.'),
        first_published_at: exactTime,
        last_published_at: exactTime,
        old_model_version: z.string().nullable(),
        new_model_version: z.string().nullable(),
      }),
      ask: (published) => rescorings({ published }),
    }),
    endpoint('arrival', 'How long after its publication a headline arrived in the last 30 days, by source', {
      takes: nothing,
      row: z.object({
        source: z.string().nullable(),
        headlines: count,
        p50: z.number().describe('Seconds within which half of them arrived.'),
        p99: z.number(),
      }),
      isLive: true,
      ask: () => arrivalDelays,
    }),
    endpoint('requests', 'Requests booked in a month, by API key', {
      takes: z.object({
        month: z
          .string()
          .regex(/^(19|20)\d\d-(0[1-9]|1[0-2])$/, 'It must be a month such as 2025-01.')
          .transform((month) => `${month}-01`)
          .optional()
          .describe('The present month (UTC) by default.'),
      }),
      rights: 'own',
      row: z.object({ key: z.string(), is_own: z.boolean(), requests: count }),
      // By the clock of this process, which books requests as the loads do; a browser's may be of another month.
      ask: ({ month = monthOf(clock()) }) => requestsByKey(month, ownKey),
    }),
    endpoint('alerts', 'Open alerts of jobs: failed windows, late, budget, key refused', {
      takes: nothing,
      rights: 'own',
      row: z.object({ kind: z.string(), job: z.string(), message: z.string(), raised_at: exactTime }),
      ask: () => openAlerts,
    }),
    endpoint('fields', 'Fields of the service that appeared or vanished in the last 7 days', {
      takes: nothing,
      rights: 'own',
      isLive: true,
      row: z.object({ feed: z.string(), field: z.string(), change: z.enum(['new', 'gone']) }),
      ask: () => fieldChanges,
    }),
    endpoint('checks', 'The last result of each check, findings first', {
      takes: nothing,
      row: z.object({
        job: z.string(),
        check_name: z.string(),
        title: z.string(),
        result: z.string(),
        findings: count,
        reason: z.string().nullable(),
        checked_at: exactTime,
      }),
      ask: () => lastChecks,
    }),
    endpoint('workers', 'The running processes of gmsi work', {
      takes: nothing,
      rights: 'own',
      isLive: true,
      row: z.object({
        worker_id: z.string(),
        run_by: z.string(),
        concurrency: z.int(),
        started_at: exactTime,
      }),
      ask: () => livingWorkers(leaseSeconds),
    }),
  ];
}
