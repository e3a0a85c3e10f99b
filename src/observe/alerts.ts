import type { Config } from '../config/environment.ts';
import type { Job } from '../config/job.ts';
import type { Log } from '../log.ts';
import type { Secret } from '../secret.ts';
import type { ClientEvent } from '../service/client.ts';
import { count, number } from '../terminal/table.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import {
  type AlertCause,
  claimDueAlerts,
  type DueAlert,
  markSent,
  raiseAlert,
  resolveAlert,
} from '../warehouse/tables/alerts.ts';
import { type WindowsInTrouble, windowsInTrouble } from '../warehouse/tables/status.ts';
import { type BudgetOutlook, type JobStanding, type ReadStandings, standingsReader } from './job-standing.ts';
import { postToWebhook, usualPatience, type WebhookPatience } from './webhook.ts';

export interface AlertsOptions {
  readonly warehouse: Warehouse;
  readonly readStandings: ReadStandings;
  /** Where alerts go of a job that names no webhook itself. */
  readonly webhook: Secret | undefined;
  /** As this process has seen it; `undefined` if it has not asked the service anything yet. */
  readonly key?: KeyStanding | undefined;
  readonly log: Log;
  /** Ends what is being sent. */
  readonly signal: AbortSignal;
  readonly patience?: WebhookPatience;
}

/**
 * Looks how jobs are, writes down what is wrong and what no longer is, and posts what nobody has been told yet: one
 * message for each cause, and one when it is gone, whichever process looks, and how often. (Two, where a process is
 * killed between sending and writing that down.) Never throws: alerts must not stop the loading.
 */
export async function checkAlerts(jobs: readonly Job[], options: AlertsOptions): Promise<void> {
  const { warehouse, log, key } = options;
  const watched = jobs.filter((job) => webhookOf(job, options));
  if (watched.length === 0) return;
  try {
    // First: what follows reads much more, and so can fail more easily.
    if (key) for (const job of watched) await note(warehouse, keyFinding(job.name, key));
    for (const standing of await options.readStandings(watched)) {
      const failed = standing.scope
        ? await windowsInTrouble(warehouse, standing.scope)
        : { windows: 0, reasons: [] };
      for (const finding of findingsOfJobs(standing, failed)) await note(warehouse, finding);
    }
    for (const job of watched) {
      const due = await claimDueAlerts(warehouse, job.name);
      await Promise.all(due.map((alert) => send(alert, webhookOf(job, options)!, options)));
    }
  } catch (error) {
    log.warn({ why: (error as Error).message }, 'alerts could not be looked for');
  }
}

/** Posts what is to be told of jobs after a load of them by hand or by cron, if they have a webhook. */
export async function alertAfterRun(
  jobs: readonly Job[],
  session: {
    readonly config: Pick<Config, 'apiKey' | 'alertWebhook'>;
    readonly warehouse: Warehouse;
    readonly log: Log;
    readonly clock: () => Date;
    readonly stop: AbortSignal;
  },
  /** What the load has seen of the key. */
  key: KeyStanding | undefined,
): Promise<void> {
  const { config, warehouse, log, clock, stop: signal } = session;
  const readStandings = standingsReader(warehouse, { apiKey: config.apiKey, clock });
  await checkAlerts(jobs, { warehouse, readStandings, webhook: config.alertWebhook, key, log, signal });
}

function note(warehouse: Warehouse, finding: AlertFinding): Promise<void> {
  return finding.trouble ? raiseAlert(warehouse, finding, finding.trouble) : resolveAlert(warehouse, finding);
}

/** Sends an alert that is claimed; where the webhook does not take it, a later check tries again. */
async function send(alert: DueAlert, url: Secret, options: AlertsOptions): Promise<void> {
  const { warehouse, log, signal, patience = usualPatience } = options;
  const about = { alert: alert.alert_id, kind: alert.kind, job: alert.job };
  try {
    await postToWebhook(url, bodyOf(alert), patience, signal);
    await markSent(warehouse, alert);
    log.info(about, alert.resolved_at ? 'told that an alert is over' : 'sent an alert');
  } catch (error) {
    log.warn({ ...about, why: (error as Error).message }, 'the webhook did not take an alert');
  }
}

/** What is posted. Slack, and what understands its messages, shows `text`. */
function bodyOf({ kind, job, message, details, raised_at, resolved_at }: DueAlert) {
  return {
    text: resolved_at ? `gmsi: over since ${resolved_at.toISOString()}: ${message}` : `gmsi: ${message}`,
    ...{ kind, job, status: resolved_at ? 'resolved' : 'raised', details },
    at: (resolved_at ?? raised_at).toISOString(),
  };
}

function webhookOf(job: Job, { webhook }: Pick<AlertsOptions, 'webhook'>): Secret | undefined {
  return job.alerts.webhookUrl ?? webhook;
}

/** Whether a cause is there. What cannot be told is no finding, and leaves an alert as it is. */
export interface AlertFinding extends AlertCause {
  /** What there is to say of it; `null` if it is gone. */
  readonly trouble: { readonly message: string; readonly details: object } | null;
}

/** A budget counts as sufficient again below this share of it, so that a forecast on the edge is reported once. */
const surelyEnough = 0.95;

/** What is to be told of a job. */
export function findingsOfJobs(standing: JobStanding, failed: WindowsInTrouble): AlertFinding[] {
  const { job, budget } = standing;
  return [
    { job: job.name, kind: 'failed windows', trouble: failedWindows(standing, failed) },
    ...(budget ? budgetFindings(job.name, budget) : []),
    { job: job.name, kind: 'late', trouble: lateness(standing) },
  ];
}

/** Whether the service takes the key, which concerns each job that is loaded with it. */
function keyFinding(job: string, { refusedWith }: KeyStanding): AlertFinding {
  if (refusedWith === undefined) return { job, kind: 'key refused', trouble: null };
  const message = `The service refuses the API key with ${refusedWith}, so job ${job} is not loaded. Check GMSI_API_KEY and that the key may read the feed, then start gmsi again.`;
  return { job, kind: 'key refused', trouble: { message, details: { status: refusedWith } } };
}

function failedWindows(
  { job }: JobStanding,
  { windows, reasons }: WindowsInTrouble,
): AlertFinding['trouble'] {
  if (windows === 0) return null;
  const [first] = reasons;
  return {
    message: `${count(windows, 'window')} of job ${job.name} failed: ${first!.reason} The next run tries again; gmsi status ${job.name} lists them.`,
    details: { windows, reasons },
  };
}

function budgetFindings(job: string, outlook: BudgetOutlook): AlertFinding[] {
  const { used, limit, projected, spentBy } = outlook;
  const details = { used, limit, projected, spent_by: spentBy };
  if (used >= limit) {
    const message = `The request budget of job ${job} is spent: ${number(used)} of ${number(limit)} requests this month. Nothing is loaded until the first of the next month (UTC).`;
    return [{ job, kind: 'budget', trouble: { message, details } }];
  }
  if (spentBy !== null) {
    const day = spentBy.toISOString().slice(0, 10);
    const message = `The request budget of job ${job} will not last the month: ${number(used)} of ${number(limit)} requests are used, and the schedule brings that to ${number(projected)} at the least; the last one goes about ${day}. gmsi plan ${job} says what would save.`;
    return [{ job, kind: 'budget', trouble: { message, details } }];
  }
  return projected <= limit * surelyEnough ? [{ job, kind: 'budget', trouble: null }] : [];
}

function lateness({ job, newestCovered, lagSeconds }: JobStanding): AlertFinding['trouble'] {
  const { maxLagDays } = job.alerts;
  const days = lagSeconds / 86_400;
  if (maxLagDays === undefined || days <= maxLagDays) return null;
  const since =
    newestCovered === null
      ? 'some series has no day covered yet'
      : `all series are covered up to ${newestCovered}`;
  return {
    message: `Job ${job.name} is ${days.toFixed(1)} days late: ${since}; ${count(maxLagDays, 'day')} are allowed. gmsi status ${job.name} shows what is missing.`,
    details: {
      lag_seconds: Math.round(lagSeconds),
      max_lag_days: maxLagDays,
      newest_covered_day: newestCovered,
    },
  };
}

/** What the service's answers say about the API key. */
export interface KeyStanding {
  /** 401 or 403 if the service refuses the key; `undefined` if it takes it. */
  readonly refusedWith: number | undefined;
}

export interface KeyWatch {
  onClientEvent(event: ClientEvent): void;
  /** `undefined` until the service has answered for the first time. */
  readonly standing: KeyStanding | undefined;
}

/**
 * Watches whether the service takes the key. A refusal ends whatever uses the key, so it counts even if answers to requests
 * that were under way still come after it.
 */
export function watchKey(): KeyWatch {
  let standing: KeyStanding | undefined;
  return {
    onClientEvent(event) {
      if (event.type !== 'request' || standing?.refusedWith) return;
      const { status, outcome } = event;
      if (status === 401 || status === 403) standing = { refusedWith: status };
      else if (outcome === 'ok') standing = { refusedWith: undefined };
    },
    get standing() {
      return standing;
    },
  };
}
