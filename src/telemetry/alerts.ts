import type { Config } from '../config.ts';
import type { Job } from '../job/job.ts';
import type { Log } from '../log.ts';
import type { Secret } from '../secret.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import {
  claimDueAlerts,
  type DueAlert,
  markSent,
  raiseAlert,
  resolveAlert,
} from '../warehouse/queries/alerts.ts';
import { windowsInTrouble } from '../warehouse/queries/telemetry.ts';
import { type Finding, findingsOf, keyFinding } from './alert-findings.ts';
import { type ReadStandings, standingsReader } from './job-standing.ts';
import type { KeyStanding } from './watch-key.ts';
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
      for (const finding of findingsOf(standing, failed)) await note(warehouse, finding);
    }
    for (const job of watched) {
      const due = await claimDueAlerts(warehouse, job.name);
      await Promise.all(due.map((alert) => send(alert, webhookOf(job, options)!, options)));
    }
  } catch (error) {
    log.warn({ why: (error as Error).message }, 'alerts could not be looked for');
  }
}

/** Posts what is to be told of jobs after a run of them by hand or by cron, if they have a webhook. */
export async function alertAfterRun(
  jobs: readonly Job[],
  session: {
    readonly config: Pick<Config, 'apiKey' | 'alertWebhook'>;
    readonly warehouse: Warehouse;
    readonly log: Log;
    readonly clock: () => Date;
    readonly stop: AbortSignal;
  },
  /** What the run has seen of the key. */
  key: KeyStanding | undefined,
): Promise<void> {
  const { config, warehouse, log, clock, stop: signal } = session;
  const readStandings = standingsReader(warehouse, { apiKey: config.apiKey, clock });
  await checkAlerts(jobs, { warehouse, readStandings, webhook: config.alertWebhook, key, log, signal });
}

function note(warehouse: Warehouse, finding: Finding): Promise<void> {
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
