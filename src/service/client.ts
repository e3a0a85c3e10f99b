import { isMap } from '../config/field-types.ts';
import type { ServiceSettings } from '../config/job.ts';
import type { ProxyFor } from '../config/proxies.ts';
import { kindOf } from '../errors.ts';
import { feedNamed } from '../feeds/catalog.ts';
import { sayIfSlow } from '../log.ts';
import type { Secret } from '../secret.ts';
import { requestTarget, serviceAddress } from './address.ts';
import { checkStatus, longestWait, noteIn, serviceWords } from './check-status.ts';
import { type Clock, keepServiceTime, type ServiceTime, systemClock } from './clock.ts';
import {
  type AddressFault,
  CursorBroken,
  KeyRefused,
  MalformedPage,
  NoteInstead,
  NotSent,
  outcomeOf,
  PageTooLarge,
  ProxyRefused,
  type RequestOutcome,
  RequestRefused,
} from './errors.ts';
import { type AnsweredAddresses, firstContact } from './first-contact.ts';
import { type Http, type HttpAnswer, openHttp } from './http.ts';
import { isSprawling, mostObjects, NotJson, parseJson } from './json.ts';
import { createPace } from './pace.ts';
import { type EnvelopeOptions, type Page, readEnvelope, type ServiceRequest } from './page.ts';
import type { Permits } from './permits.ts';
import { redactorOf } from './redact.ts';
import { remarkGuard } from './remarks.ts';
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
  /** A request has waited three seconds for an address that has not given a good answer yet; `reason` is its last error. */
  | { readonly type: 'waiting'; readonly address: string; readonly reason: Error | undefined }
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

function noJson(status: number, words: string): AddressFault {
  const hint =
    "Is it the address of the API, not of a web site? A network's login page or a proxy may also stand in between.";
  return { what: `it answers ${status} without JSON: ${words}`, hint };
}

/** So many notes in place of data, without a good answer between them, are not about one window: the quota is probably spent. */
const notesInARow = 3;

const noRecords = { data: [], has_more: false };

/** A list that whoever may read any series of the feed may read. */
function listFor({ feed }: ServiceRequest): ServiceRequest {
  const isOfTickers = feed !== undefined && feedNamed(feed).dimensions.includes('ticker');
  return { path: isOfTickers ? '/ticker' : '/countries', query: {} };
}

/** Refusals in a row, of what was asked, after which the key is tried again. */
const refusalsInARow = 10;

export type Client = ReturnType<typeof createClient>;

/**
 * Creates a client, which turns a request into a page or a named error (`errors.ts`). It retries, and takes a permit for
 * each request. One client serves all requests with a key.
 */
export function createClient(options: ClientOptions) {
  const { settings, permits, clock = systemClock, random = Math.random, onEvent = () => {} } = options;
  const patience = { ...defaultPatience, ...options.patience };
  const redactor = redactorOf(options.apiKey);
  const redact = redactor.text;
  const heed = remarkGuard(redact, noteInstead);
  const pace = createPace({
    permits,
    concurrency: settings.concurrency,
    patience,
    clock,
    random,
    onSlowed: (pauseMs, concurrency) => onEvent({ type: 'slowed', pauseMs, concurrency }),
  });
  let saidWaiting = false;
  let saidEcho = false;
  const closing = new AbortController();
  let requests = 0;
  let notes = 0;
  let refusals = 0;
  let answeredLast: ServiceRequest | undefined;
  let keyTrial:
    | {
        readonly request: ServiceRequest;
        readonly since: ServiceRequest | undefined;
        readonly end: Promise<unknown>;
      }
    | undefined;
  let servedBy: 'sandbox' | 'service' | undefined;
  const answeredAt = new Set<string>();
  const serviceTime = keepServiceTime();

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
    const { answered, recall } = options;
    const contact = firstContact({
      answered,
      recall,
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
    wanted: 'page' | 'list' | 'document',
    read: (json: unknown) => T,
    signal: AbortSignal,
  ): Promise<T> {
    const { address, http, contact } = request.isLive ? live : usual;
    const target = requestTarget(address, request);
    const json = request.body && JSON.stringify(request.body);
    const path = target.replace(/\?.*$/s, '');
    const { feed } = request;
    let reason: Error | undefined;
    const doubted = new Set<string>();

    const jsonIn = (answer: HttpAnswer) => {
      try {
        const isPage = wanted === 'page';
        checkStatus(answer, { path, redact, now: clock.now(), isPage });
        const json = jsonOf(answer);
        if (wanted !== 'document') heed(json, request, { isPage, doubted });
        return json;
      } catch (error) {
        // A later page's cursor may have expired: then the same words do not mean that the pages have ended.
        if (wanted === 'page' && !request.isContinued && meansNoData(error)) return noRecords;
        throw error;
      }
    };

    const understand = (answer: HttpAnswer) => {
      const result = read(jsonIn(answer));
      servedBy ??= answer.headers.server === 'gmsi-sandbox' ? 'sandbox' : 'service';
      contact.succeeded();
      answeredAt.add(contact.address);
      notes = 0;
      refusals = 0;
      answeredLast = request;
      return result;
    };

    const attempt = async (number: number) => {
      // Last safeguard: an address or a body may come from the warehouse, where an older version stored it.
      if (redactor.isIn(target) || redactor.isIn(json ?? ''))
        throw new CursorBroken('The request contains the API key, so it was not sent.');
      try {
        return await pace.run(() => send(http, { target, json, feed, path }, understand, signal), signal);
      } catch (error) {
        if (error instanceof NotSent || error instanceof ProxyRefused) requests -= 1;
        const judged =
          error instanceof RequestRefused && error.isOfKey
            ? await judgeKey(error, request)
            : await contact.judge(error, request.path, number);
        // What a trial of the key means, the request that it is for decides.
        if (judged instanceof KeyRefused && request !== keyTrial?.request)
          onEvent({ type: 'key refused', status: judged.status });
        throw judged;
      }
    };

    const onRetry = (error: Error, attempt: number, delayMs: number) => {
      reason = error;
      onEvent({ type: 'retry', path, attempt, delayMs, reason: error });
    };

    const sayWaiting = () => {
      if (contact.isOver() || saidWaiting) return;
      saidWaiting = true;
      onEvent({ type: 'waiting', address: contact.address, reason });
    };

    const { maxAttempts } = settings;
    const { leastDelayMs, givesUp } = contact;
    const retrying = { maxAttempts, patience, clock, random, leastDelayMs, givesUp, onRetry };
    return sayIfSlow(sayWaiting, () => withRetries(attempt, retrying, signal));
  }

  /**
   * Tells a key that is refused for everything from one that may not read what was asked: tries it with the request that was
   * answered last, else with a list that the feed needs.
   */
  async function judgeKey(error: RequestRefused, request: ServiceRequest): Promise<unknown> {
    const known = answeredLast ?? listFor(request);
    if (request === keyTrial?.request || (!answeredLast && request.path === known.path))
      return new KeyRefused(error.status, error.words);
    if (!keyTrial || ++refusals % refusalsInARow === 0) {
      const again = { ...known };
      const end = getJson(again, closing.signal).catch((refused: unknown) => refused);
      keyTrial = { request: again, since: answeredLast, end };
    }
    const { since, end } = keyTrial;
    const kind = kindOf(await end);
    // An answer to another request, meanwhile, shows that the key is not refused for everything.
    return kind === 'budget' || (kind === 'fatal' && answeredLast === since) ? end : error;
  }

  /** Sends a request and reports its outcome; an unreadable answer counts as a failure. */
  async function send<T>(
    to: Http,
    {
      target,
      json,
      ...of
    }: { target: string; json: string | undefined; feed: string | undefined; path: string },
    understand: (answer: HttpAnswer) => T,
    signal: AbortSignal,
  ): Promise<T> {
    requests += 1;
    const sentAt = clock.now();
    let answer: HttpAnswer | undefined;
    let ms: number | undefined;

    const tell = (failure?: unknown) => {
      const outcome = outcomeOf(answer?.status, failure, signal);
      const status = answer?.status;
      onEvent({ type: 'request', ...of, outcome, status, ms: ms ?? clock.now() - sentAt });
    };

    try {
      answer = await to.send(target, json, signal);
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
  }

  function jsonOf({ status, content }: HttpAnswer): unknown {
    if (isSprawling(content))
      throw new PageTooLarge(`The answer has more than ${mostObjects} objects or lists.`);
    const text = content.toString();
    const json = withoutKey(parsed(text));
    const note = noteIn(text, json, redact);
    if (json !== undefined && note === undefined) return json;
    const words = note ?? serviceWords(text, redact);
    const addressFault = json === undefined ? noJson(status, words) : undefined;
    if (note !== undefined)
      throw noteInstead(`The service answered ${status} with a note in place of data`, note, addressFault);
    throw new MalformedPage(`The service answered ${status} without JSON: ${words}`, { addressFault });
  }

  function noteInstead(what: string, words: string, addressFault?: AddressFault): NoteInstead {
    notes += 1;
    const retryAfterMs = notes < notesInARow ? undefined : longestWait;
    return new NoteInstead(what, words, { addressFault, retryAfterMs });
  }

  /** Returns true if the job says that these words mean that there are no data. */
  function meansNoData(error: unknown): boolean {
    if (!(error instanceof NoteInstead || error instanceof RequestRefused)) return false;
    const words = error.words.toLowerCase();
    return settings.noData.some((one) => words.includes(one.toLowerCase()));
  }

  /** @throws CursorBroken if its cursor contains the key */
  function withoutKey(from: unknown): unknown {
    if (isMap(from) && typeof from.next_token === 'string' && redactor.isInToken(from.next_token)) {
      throw new CursorBroken('The service sent a next_token that contains the API key, so it was not used.', {
        hint: 'Tell the vendor: a cursor must not contain a key. A smaller step in the job file may make one unnecessary.',
      });
    }
    const { json, isEchoed } = redactor.json(from);
    if (isEchoed && !saidEcho) onEvent({ type: 'key echoed' });
    saidEcho ||= isEchoed;
    return json;
  }

  /** Drops the parser's error: its message quotes the body, and the body could echo the key. */
  function parsed(text: string): unknown {
    try {
      return parseJson(text);
    } catch (error) {
      if (error instanceof NotJson) return undefined;
      throw error;
    }
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
      return requests;
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
