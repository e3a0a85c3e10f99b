import type { ServiceSettings } from '../config/job.ts';
import type { ProxyFor } from '../config/proxies.ts';
import type { Secret } from '../secret.ts';
import { requestTarget, serviceAddress } from './address.ts';
import { type Clock, keepServiceTime, type ServiceTime, systemClock } from './clock.ts';
import { CursorBroken, KeyRefused, outcomeOf, type RequestOutcome, RequestRefused } from './errors.ts';
import { type AnsweredAddresses, firstContact } from './first-contact.ts';
import { type HttpAnswer, openHttp } from './http.ts';
import { keyJudge } from './judge-key.ts';
import { createPace } from './pace.ts';
import { type EnvelopeOptions, type Page, readEnvelope, type ServiceRequest } from './page.ts';
import type { Permits } from './permits.ts';
import { answerReader, type Wanted } from './read-answer.ts';
import { redactorOf } from './redact.ts';
import { defaultPatience, type Patience, withRetries } from './retry.ts';

/** The client's events, for logs and metrics. */
export type ClientEvent =
  /** A request has ended; `ms` runs from sending to the last byte or the failure. */
  | {
      readonly type: 'request';
      /** `undefined` for countries, topics and other lists. */
      readonly feed: string | undefined;
      readonly path: string;
      readonly outcome: RequestOutcome;
      /** `undefined` if no answer was read. */
      readonly status: number | undefined;
      readonly ms: number;
    }
  /** The service refused the key, with a 401, or with a 403 for everything. */
  | { readonly type: 'key refused'; readonly status: number }
  /** The service echoed the key in its data for the first time; the client removes it. */
  | { readonly type: 'key echoed' }
  /** A try failed; the next one follows after `delayMs`. */
  | {
      readonly type: 'retry';
      readonly path: string;
      readonly attempt: number;
      readonly delayMs: number;
      readonly reason: Error;
    }
  /** A 429 paused all requests for `pauseMs`; at most `concurrency` run at a time from now on. */
  | { readonly type: 'slowed'; readonly pauseMs: number; readonly concurrency: number };

export interface ClientOptions {
  /** With or without `/v1`, with or without a trailing slash. */
  readonly baseUrl: string;
  /** Where live feeds are, if not at `baseUrl`. */
  readonly liveBaseUrl?: string | undefined;
  /** Direct connections by default. */
  readonly proxyFor?: ProxyFor | undefined;
  readonly apiKey: Secret;
  readonly settings: ServiceSettings;
  /** Every request takes one, including retries. */
  readonly permits: Permits;
  readonly userAgent: string;
  /** Addresses that have answered in this process; see `firstContact`. */
  readonly answered?: AnsweredAddresses;
  /** Whether an address has answered any process; see `firstContact`. */
  readonly recall?: (address: string) => Promise<boolean>;
  readonly patience?: Partial<Patience>;
  readonly onEvent?: (event: ClientEvent) => void;
  readonly clock?: Clock;
  /** A number from 0 to below 1. */
  readonly random?: () => number;
}

export type Client = ReturnType<typeof createClient>;

/**
 * Creates a client, which turns a request into a page or a named error (`errors.ts`). It retries, and takes a permit for
 * each request. One client serves all requests with a key.
 */
export function createClient(options: ClientOptions) {
  const { settings, clock = systemClock, random = Math.random, onEvent = () => {} } = options;
  const patience = { ...defaultPatience, ...options.patience };
  const redactor = redactorOf(options.apiKey);
  const closing = new AbortController();
  const serviceTime = keepServiceTime();
  const answeredAt = new Set<string>();
  let servedBy: 'sandbox' | 'service' | undefined;
  const pace = createPace({
    permits: options.permits,
    concurrency: settings.concurrency,
    patience,
    clock,
    random,
    onSlowed: (pauseMs, concurrency) => onEvent({ type: 'slowed', pauseMs, concurrency }),
  });
  const answers = answerReader({
    redactor,
    noData: settings.noData,
    now: () => clock.now(),
    onEcho: () => onEvent({ type: 'key echoed' }),
  });
  const keys = keyJudge((request) => getJson(request, closing.signal));

  const lookup = {
    path: '/countries',
    ask: () => getJson({ path: '/countries', query: {} }, closing.signal),
  };
  const reach = (setting: string, baseUrl: string, known: typeof lookup | undefined) => {
    const address = serviceAddress(baseUrl);
    const { origin, prefix } = address;
    const http = openHttp(origin, {
      ...settings,
      connections: settings.concurrency,
      proxy: options.proxyFor?.(origin),
      headers: { 'x-api-key': options.apiKey.reveal(), 'user-agent': options.userAgent },
    });
    const contact = firstContact({
      ...options,
      address: `${origin}${prefix}`,
      setting,
      lookup: known,
      maxAttempts: settings.maxAttempts,
    });
    return { address, http, contact };
  };
  const usual = reach('GMSI_BASE_URL', options.baseUrl, lookup);
  // The lookups of another address are unknown.
  const live = options.liveBaseUrl ? reach('GMSI_LIVE_BASE_URL', options.liveBaseUrl, undefined) : usual;

  /** `read` is part of each attempt, because an unreadable body is tried again even with a good status. */
  function get<T>(
    request: ServiceRequest,
    wanted: Wanted,
    read: (json: unknown) => T,
    signal: AbortSignal,
  ): Promise<T> {
    const { address, http, contact } = request.isLive ? live : usual;
    const target = requestTarget(address, request);
    const json = request.body && JSON.stringify(request.body);
    const path = target.replace(/\?.*$/s, '');
    const doubted = new Set<string>();

    const understand = (answer: HttpAnswer): T => {
      const result = read(answers.read(answer, request, { wanted, path, doubted }));
      servedBy ??= answer.headers.server === 'gmsi-sandbox' ? 'sandbox' : 'service';
      answeredAt.add(contact.address);
      contact.succeeded();
      answers.succeeded();
      keys.succeeded(request);
      return result;
    };

    /** Sends the request and reports its outcome; an unreadable answer counts as a failure. */
    const send = async (): Promise<T> => {
      const sentAt = clock.now();
      let answer: HttpAnswer | undefined;
      let ms: number | undefined;
      const tell = (failure?: unknown) => {
        const [status, took] = [answer?.status, ms ?? clock.now() - sentAt];
        const outcome = outcomeOf(status, failure, signal);
        onEvent({ type: 'request', feed: request.feed, path, outcome, status, ms: took });
      };
      try {
        answer = await http.send(target, json, signal);
        ms = clock.now() - sentAt;
        const result = understand(answer);
        serviceTime.note(answer.headers, ms);
        tell();
        return result;
      } catch (caught) {
        // Last safeguard: removes the key from any text in this error.
        const error = redactor.error(caught);
        tell(error);
        throw error;
      }
    };

    const attempt = async (number: number): Promise<T> => {
      // Last safeguard: an address or a body may come from the warehouse, where an older version stored it.
      if (redactor.isIn(target) || redactor.isIn(json ?? ''))
        throw new CursorBroken('The request contains the API key, so it was not sent.');
      try {
        return await pace.run(send, signal);
      } catch (error) {
        const judged =
          error instanceof RequestRefused && error.isOfKey
            ? await keys.judge(error, request)
            : await contact.judge(error, request.path, number);
        if (judged instanceof KeyRefused && !keys.isTrial(request))
          onEvent({ type: 'key refused', status: judged.status });
        throw judged;
      }
    };

    const onRetry = (reason: Error, attempt: number, delayMs: number) =>
      onEvent({ type: 'retry', path, attempt, delayMs, reason });

    const retrying = { ...contact, maxAttempts: settings.maxAttempts, patience, clock, random, onRetry };
    return withRetries(attempt, retrying, signal);
  }

  function getPage(request: ServiceRequest, signal: AbortSignal, options?: EnvelopeOptions): Promise<Page> {
    return get(request, 'page', (json) => readEnvelope(json, options), signal);
  }

  /** Returns any JSON, for lookups, whose shape is not documented, and for the description. */
  function getJson(request: ServiceRequest, signal: AbortSignal): Promise<unknown> {
    return get(request, request.isUnversioned ? 'document' : 'list', (json) => json, signal);
  }

  /** Closes the connections. Requests that wait or are under way fail, so abort their signals first. */
  async function close(): Promise<void> {
    closing.abort();
    await Promise.all([pace.close(), usual.http.close(), live.http.close()]);
  }

  return {
    getPage,
    getJson,
    /** How many requests have been sent since the client was created, including retries. */
    get requests() {
      return pace.sent;
    },
    /** Who answers; `undefined` until the first good answer. */
    get servedBy() {
      return servedBy;
    },
    /** The addresses that have given a good answer. */
    answeredAt: answeredAt as ReadonlySet<string>,
    /** The service's time; `undefined` until a good answer has carried it. */
    get serviceTime(): ServiceTime | undefined {
      return serviceTime.now();
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}
