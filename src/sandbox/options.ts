import type { FaultKind, ScriptedFault } from './faults/fault.ts';
import { zoneOf } from './zone.ts';

/** How the service limits a key (docs/service.md, "Limits": all likely). */
export interface Limits {
  /** Sustained requests per second. */
  readonly perSecond: number;
  /** Requests at once after a pause. */
  readonly burst: number;
  /** Requests per calendar month (UTC). */
  readonly perMonth: number;
}

/** How records look on the wire. What the service sends is mostly not known (docs/service.md, "Headline records"). */
export interface RecordLook {
  /** Whether a record has the service's own id, a UUID in `id`. */
  readonly ids: boolean;
  /** Whether a record has `headline`, `language`, `source` and `url`. */
  readonly texts: boolean;
  /** `directional_positive`, or `directional: { positive }`. */
  readonly scores: 'flat' | 'nested';
  /** `0.91`, or `"0.91"`. */
  readonly numbers: 'number' | 'string';
  /**
   * `…T13:00:00` in `timeZone`, `…T13:00:00+00:00`, or the same instant as `…T18:30:00+05:30`; the feeds of tickers and events
   * always send `+00:00`.
   */
  readonly times: 'naive' | 'utc' | 'offset';
  /** Share of headlines whose time is rounded down to the hour. */
  readonly hourShare: number;
  /** Share of records without semantic scores, or without `sentiment_score`: half of these lack the field, half send null. */
  readonly missingScores: number;
}

/** Shares of headlines, from 0 to 1, that change after their publication, by the sandbox's clock. */
export interface Changes {
  /** First served an hour to four days after their publication time. */
  readonly late: number;
  /** Given other scores, and some another text, two hours to ten days after they were first served. */
  readonly revised: number;
  /** Withdrawn an hour to twenty days after they were first served. */
  readonly withdrawn: number;
}

export interface FaultOptions {
  /** Probability of each kind per request, with its defaults. The sum is at most 1. */
  readonly random: Readonly<Partial<Record<FaultKind, number>>>;
  /** Seeds the choice, which also depends on the order in which requests arrive. */
  readonly seed: string;
  /** The first script; see `Sandbox.script`. */
  readonly script: readonly ScriptedFault[];
}

/** The contents of the bulk archives that a sandbox writes. */
export interface ArchiveWorld {
  readonly tickers: readonly string[];
  readonly countries: readonly string[];
  readonly topics: readonly string[];
  /** First day, `YYYY-MM-DD`. Default: January 1 of last year. */
  readonly from?: string;
  /** Last day. Default: yesterday. */
  readonly to?: string;
}

/** All settings of a sandbox. All but `clock` and the matchers of scripts can be written as JSON. */
export interface SandboxSettings {
  /** The address to listen on. Any but 127.0.0.1 admits other machines. */
  readonly host: string;
  /** 0 takes a free port. */
  readonly port: number;
  /** Decides all data, and the secret that signs cursors, so that a restarted sandbox accepts its earlier cursors. */
  readonly seed: string;
  /** API keys accepted in `x-api-key`. */
  readonly keys: readonly string[];
  /**
   * The service's time, also sent in `Date`. A clock that stands still never refills the rate, so use it with `limits:
   * null`.
   */
  readonly clock: () => Date;
  readonly limits: Limits | null;
  /** Whether `end_date` is part of the range. If it is ignored, ranges last until now, however long they are. */
  readonly endDate: 'inclusive' | 'exclusive' | 'ignored';
  /** How many days before today `start_date` may be; earlier ones are refused with 400. `null` for no limit. */
  readonly historyLimitDays: number | null;
  /** The same for historical headlines of tickers and the regional index, which probably reach 90 days back. */
  readonly tickerHistoryLimitDays: number | null;
  readonly order: 'newest-first' | 'oldest-first';
  /** The zone of the days in `start_date` and `end_date`, and of times without a zone. */
  readonly timeZone: string;
  /** Whether live feeds answer with the page envelope, without a cursor, instead of a bare array. */
  readonly liveEnvelope: boolean;
  /** Minutes by which the historical feeds lag behind the clock. */
  readonly historicalDelayMinutes: number;
  /** Multiplies the number of headlines; 1 means some 5 to 20 a day for an average pair. */
  readonly volume: number;
  /** Milliseconds for which a cursor is accepted; `null` for no limit. */
  readonly tokenLifetimeMs: number | null;
  /** Status for a cursor that is broken, expired or of another query. */
  readonly tokenErrorStatus: number;
  readonly records: RecordLook;
  readonly changes: Changes;
  readonly faults: FaultOptions;
  /** Bytes of recent pages that are cached. */
  readonly cacheBytes: number;
  readonly archive: ArchiveWorld;
}

/** The options of `startSandbox`, all with defaults, as `SandboxSettings` describes them. */
export type SandboxOptions = Partial<
  Omit<SandboxSettings, 'limits' | 'records' | 'changes' | 'faults' | 'archive'>
> & {
  /** Default: 25 a second, bursts of 50, 250,000 a month. `null` for no limits. */
  readonly limits?: Partial<Limits> | null;
  readonly records?: Partial<RecordLook>;
  readonly changes?: Partial<Changes>;
  readonly faults?: Partial<FaultOptions>;
  readonly archive?: Partial<ArchiveWorld>;
};

const LIMITS: Limits = { perSecond: 25, burst: 50, perMonth: 250_000 };

const DEFAULTS: SandboxSettings = {
  host: '127.0.0.1',
  port: 0,
  seed: 'sandbox',
  keys: ['sandbox-key'],
  clock: () => new Date(),
  limits: LIMITS,
  endDate: 'inclusive',
  historyLimitDays: null,
  tickerHistoryLimitDays: 90,
  order: 'newest-first',
  timeZone: 'UTC',
  liveEnvelope: false,
  historicalDelayMinutes: 0,
  volume: 1,
  tokenLifetimeMs: null,
  tokenErrorStatus: 400,
  records: {
    ids: true,
    texts: true,
    scores: 'flat',
    numbers: 'number',
    times: 'naive',
    hourShare: 0.6,
    missingScores: 0.01,
  },
  changes: { late: 0, revised: 0, withdrawn: 0 },
  faults: { random: {}, seed: 'faults', script: [] },
  cacheBytes: 64 * 2 ** 20,
  archive: {
    tickers: ['BTC_CRY', 'BZ_COM'],
    countries: ['US', 'GB'],
    topics: ['Inflation-Food', 'Market Stress'],
  },
};

/** Fills in the defaults. @throws RangeError, which names the option, if one is not known, or there is no such time zone */
export function settingsFrom(options: SandboxOptions = {}): SandboxSettings {
  const settings: SandboxSettings = {
    ...DEFAULTS,
    ...options,
    limits: options.limits === null ? null : { ...LIMITS, ...options.limits },
    records: { ...DEFAULTS.records, ...options.records },
    changes: { ...DEFAULTS.changes, ...options.changes },
    faults: { ...DEFAULTS.faults, ...options.faults },
    archive: { ...DEFAULTS.archive, ...options.archive },
  };
  checkNames('', options, DEFAULTS);
  for (const group of ['records', 'changes', 'faults'] as const)
    checkNames(`${group}.`, options[group] ?? {}, DEFAULTS[group]);
  checkNames('limits.', options.limits ?? {}, LIMITS);
  checkNames('archive.', options.archive ?? {}, { ...DEFAULTS.archive, from: '', to: '' });
  zoneOf(settings.timeZone);
  return settings;
}

function checkNames(group: string, given: object, known: object): void {
  for (const name of Object.keys(given))
    if (!Object.hasOwn(known, name)) throw new RangeError(`unknown option ${group}${name}`);
}
