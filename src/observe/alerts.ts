import { request } from 'undici';
import { type Answer, answerOn } from '../answer/answer.ts';
import type { Cause } from '../answer/causes.ts';
import { sayCure } from '../answer/cures.ts';
import { type JobStanding, type ReadStandings, standingsReader } from '../answer/standing.ts';
import type { Config } from '../config/environment.ts';
import type { Job } from '../config/job.ts';
import { proxyName } from '../config/proxies.ts';
import { typed } from '../config/typed.ts';
import { GmsiError, sentence } from '../errors.ts';
import type { Log } from '../log.ts';
import { version } from '../package.ts';
import type { Secret } from '../secret.ts';
import { openAgent } from '../service/agent.ts';
import type { ClientEvent } from '../service/client.ts';
import { minute } from '../terminal/table.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import { keepProcess } from '../warehouse/keep-process.ts';
import {
  type AlertCause,
  type AlertKind,
  claimDueAlerts,
  type DueAlert,
  jobsWithDueAlerts,
  markSent,
  raiseAlert,
  resolveAlert,
} from '../warehouse/tables/alerts.ts';
import { forgetProcess } from '../warehouse/tables/processes.ts';

export interface AlertsOptions {
  readonly warehouse: Warehouse;
  /** Its webhook receives the alerts of jobs that name none. */
  readonly config: Pick<Config, 'apiKey' | 'alertWebhook' | 'proxyFor' | 'leaseSeconds'>;
  readonly clock: () => Date;
  /** That of a process which checks again and again: it keeps the costs of schedules. */
  readonly readStandings?: ReadStandings;
  /** The state of the key, as this process knows it; `undefined` before its first request. */
  readonly key?: KeyStanding | undefined;
  /** Jobs whose files a worker cannot read; it has stored their alerts. */
  readonly unreadable?: readonly string[] | undefined;
  /** Host, process and version. */
  readonly runBy: string;
  readonly log: Log;
  /** Ends the message that is being sent. */
  readonly signal: AbortSignal;
}

/**
 * Checks jobs, stores which alerts begin and end, and posts those that were not posted yet. Each cause gets one message when
 * it appears and one when it is gone, no matter how many processes check. (A message is sent twice if a process is killed
 * after it has sent the message and before it has stored that.) Never throws, because alerts must not stop loading.
 */
export async function checkAlerts(jobs: readonly Job[], options: AlertsOptions): Promise<void> {
  const { warehouse, config, clock, log, key, unreadable = [] } = options;
  const { readStandings = standingsReader(warehouse, { ...config, clock }) } = options;
  const webhook = config.alertWebhook;
  const watched = jobs.filter((job) => job.alerts.webhookUrl ?? webhook);
  // A file that could never be read names no webhook.
  const unknown = webhook ? unreadable.filter((name) => jobs.every((job) => job.name !== name)) : [];
  if (watched.length + unknown.length === 0) return;
  try {
    // First, because what follows reads much more and is more likely to fail.
    if (key)
      for (const { name: job } of watched)
        await note(warehouse, { job, kind: 'key refused', trouble: keyTrouble(job, key) });
    const standings = await readStandings(watched);
    const { causes } = await answerFor(warehouse, standings);
    for (const standing of standings)
      for (const finding of findingsOf(standing, causes)) await note(warehouse, finding);
    const receivers = new Map(watched.map(({ name, alerts }) => [name, alerts.webhookUrl ?? webhook!]));
    for (const name of unknown) receivers.set(name, webhook!);
    await sendDue(receivers, options);
  } catch (error) {
    log.warn({ why: (error as Error).message }, 'alerts could not be checked');
  }
}

/** The one answer on the jobs of a worker, whose files may be elsewhere. */
export function answerFor(warehouse: Warehouse, standings: readonly JobStanding[]): Promise<Answer> {
  return answerOn(warehouse, standings, { typedAs: ({ name }) => typed(name) });
}

/** What sends is listed as a process only while it has something to send: most checks find nothing. */
async function sendDue(receivers: ReadonlyMap<string, Secret>, options: AlertsOptions): Promise<void> {
  const { warehouse, log, signal, runBy } = options;
  const jobs = await jobsWithDueAlerts(warehouse, [...receivers.keys()]);
  if (jobs.length === 0) return;
  const about = { command: 'alert', run_by: runBy, version, concurrency: null };
  await using sender = await keepProcess(warehouse.patient({ log, signal }), about, {
    leaseSeconds: options.config.leaseSeconds,
    log,
  });
  for (const job of jobs) {
    const due = await claimDueAlerts(warehouse, job, sender);
    await Promise.all(due.map((alert) => send(alert, receivers.get(job)!, options)));
  }
  // Not only stopped: with a webhook that does not answer, each minute would leave one in the list.
  await forgetProcess(warehouse, sender.processId);
}

function note(warehouse: Warehouse, finding: AlertFinding): Promise<void> {
  return finding.trouble ? raiseAlert(warehouse, finding, finding.trouble) : resolveAlert(warehouse, finding);
}

/** Sends a claimed alert; if the webhook does not accept it, a later check tries again. */
async function send(alert: DueAlert, url: Secret, options: AlertsOptions): Promise<void> {
  const { warehouse, log } = options;
  const about = { alert: alert.alert_id, kind: alert.kind, job: alert.job };
  try {
    await postToWebhook(url, bodyOf(alert), options);
    await markSent(warehouse, alert);
    log.info(about, alert.resolved_at ? 'reported that an alert is over' : 'sent an alert');
  } catch (error) {
    log.warn({ ...about, why: (error as Error).message }, 'the webhook did not accept an alert');
  }
}

/** A webhook that a test message was posted to. */
export interface TriedWebhook {
  /** The setting that has its address. */
  readonly setting: string;
  /** Why it did not accept the message; `null` if it did. */
  readonly why: string | null;
}

/** Posts a message of the kind `test` to each webhook of these jobs, and to the one for jobs that name none. */
export async function tryWebhooks(
  jobs: readonly Job[],
  {
    config,
    clock,
    signal,
  }: Pick<AlertsOptions, 'clock' | 'signal'> & {
    readonly config: Pick<Config, 'alertWebhook' | 'proxyFor'>;
  },
): Promise<TriedWebhook[]> {
  const webhooks = [
    { setting: 'GMSI_ALERT_WEBHOOK_URL', job: null, url: config.alertWebhook },
    ...jobs.map(({ name, alerts }) => ({
      setting: `alerts.webhook_url of job ${name}`,
      job: name,
      url: alerts.webhookUrl,
    })),
  ];
  const tried: TriedWebhook[] = [];
  for (const { setting, job, url } of webhooks) {
    if (!url) continue;
    const text = 'gmsi: This is a test. Alerts will be posted here.';
    const body = { text, kind: 'test', job, status: 'raised', details: {}, at: clock().toISOString() };
    const why = await postToWebhook(url, body, { config, signal }).then(
      () => null,
      (error: Error) => error.message,
    );
    signal.throwIfAborted();
    tried.push({ setting, why });
  }
  return tried;
}

/** The longest wait for a webhook, in milliseconds. */
const patience = 10_000;

/**
 * Posts JSON to a webhook. Redirects are not followed.
 * @throws Error that says why, without the address, which is a secret
 */
async function postToWebhook(
  url: Secret,
  body: object,
  { config, signal }: { readonly config: Pick<Config, 'proxyFor'>; readonly signal: AbortSignal },
): Promise<void> {
  const proxy = config.proxyFor?.(url.reveal());
  const dispatcher = openAgent(proxy, { connectTimeout: patience });
  try {
    const { statusCode, body: answer } = await request(url.reveal(), {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
      signal: AbortSignal.any([signal, AbortSignal.timeout(patience)]),
      dispatcher,
    }).catch((error: unknown) => {
      if (error instanceof GmsiError) throw error;
      const { code, name } = error as NodeJS.ErrnoException;
      throw new Error(`no answer${proxy ? ` through the proxy ${proxyName(proxy)}` : ''}: ${code ?? name}`);
    });
    await answer.dump();
    if (statusCode < 200 || statusCode >= 300) throw new Error(`it answered ${statusCode}`);
  } finally {
    await dispatcher.destroy();
  }
}

/**
 * Returns the body that is posted. Slack, and services that read Slack's messages, show `text`; escaped, because a message
 * quotes the service and the database, and Slack reads <!channel> and <address|link>.
 */
function bodyOf({ kind, job, message, details, raised_at, resolved_at }: DueAlert) {
  const entities: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };
  const shown = message.replace(/[&<>]/g, (sign) => entities[sign]!);
  return {
    text: resolved_at ? `gmsi: over since ${minute(resolved_at)} UTC: ${shown}` : `gmsi: ${shown}`,
    kind,
    job,
    status: resolved_at ? 'resolved' : 'raised',
    details,
    at: (resolved_at ?? raised_at).toISOString(),
  };
}

/** Describes a cause; `null` if it does not exist, or no longer. */
type Trouble = { readonly message: string; readonly details: object } | null;

/** Whether a cause exists. If that is not known, there is no finding, and the alert stays as it is. */
type AlertFinding = AlertCause & { readonly trouble: Trouble };

/**
 * An alert about the budget ends once the forecast is below this share of the limit, so that a forecast near the limit is
 * reported once.
 */
const surelyEnough = 0.95;

/**
 * The kinds of alerts that follow from the causes of a job; a worker and its exports raise the others. None says that no worker
 * runs a job: who could say so is gone, and the job gets late.
 */
const kinds = [
  'failed windows',
  'late',
  'rows gone',
  'load failed',
  'check failed',
  'budget',
  'fields changed',
] as const;

/** Returns the kind of alert for a cause; `undefined` for what the next load cures, and for what is as somebody wants it. */
function kindOfAlert({ code, severity, windows }: Cause): (typeof kinds)[number] | undefined {
  if (code === 'budget spent' || code === 'budget short') return 'budget';
  if (code === 'unknown name' || code === 'not listed' || (windows !== null && severity === 'failing'))
    return 'failed windows';
  if (code === 'fields changed' || severity !== 'note') return kinds.find((kind) => kind === code);
  return undefined;
}

/** Returns which alerts of a job there are, and which there are not. */
export function findingsOf(standing: JobStanding, causes: readonly Cause[]): AlertFinding[] {
  const { job } = standing;
  const own = causes.filter((one) => {
    if (one.code === 'fields changed') return one.feed === job.feed && job.unknownFields !== 'keep';
    return one.job === job.name;
  });
  return kinds.flatMap((kind) => {
    const of = own.filter((one) => kindOfAlert(one) === kind);
    if (of.length === 0) return isUnsure(kind, standing) ? [] : { job: job.name, kind, trouble: null };
    const message = of.map((one) => sentenceOn(job.name, one)).join('\n');
    return { job: job.name, kind, trouble: { message, details: { causes: of } } };
  });
}

/** Returns true if a cause may only seem to be over. */
function isUnsure(kind: AlertKind, { lastLoad, budget, scope }: JobStanding): boolean {
  // Both are about its series.
  if (!scope && (kind === 'failed windows' || kind === 'rows gone')) return true;
  // What is tried again has not failed for now.
  if (kind === 'failed windows' || kind === 'load failed') return lastLoad?.is_running === true;
  return kind === 'budget' && (!budget || budget.projected > budget.limit * surelyEnough);
}

/** Says a cause and its cure, with the job. */
function sentenceOn(job: string, { what, why, before, command }: Cause): string {
  const cure = command === null ? '' : ` To do: ${sayCure({ ...(before !== null && { before }), command })}`;
  return `Job ${job}: ${what}${why ? `. ${sentence(why)}` : '.'}${cure}`;
}

function keyTrouble(job: string, { refusedWith }: KeyStanding): Trouble {
  if (refusedWith === undefined) return null;
  const message =
    `The service refuses the API key with ${refusedWith}, so job ${job} is not loaded. Check GMSI_API_KEY and that the key ` +
    'may read the feed, then start gmsi again.';
  return { message, details: { status: refusedWith } };
}

/** Whether the service accepts the API key, judging by its answers. */
export interface KeyStanding {
  /** 401 or 403 if the service refuses the key; `undefined` if it accepts it. */
  readonly refusedWith: number | undefined;
}

/**
 * Watches whether the service accepts the key; `standing` is `undefined` until the first answer. A refusal ends the process,
 * so it counts even if good answers to earlier requests arrive after it.
 */
export function watchKey() {
  let standing: KeyStanding | undefined;
  return {
    onClientEvent(event: ClientEvent): void {
      if (standing?.refusedWith) return;
      if (event.type === 'key refused') standing = { refusedWith: event.status };
      else if (event.type === 'request' && event.outcome === 'ok') standing = { refusedWith: undefined };
    },
    get standing(): KeyStanding | undefined {
      return standing;
    },
  };
}
