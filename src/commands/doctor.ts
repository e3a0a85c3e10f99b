import { systemClock } from '../api/clock.ts';
import { BudgetSpent, KeyRefused } from '../api/errors.ts';
import {
  type OpenWarehouse,
  openService,
  openWarehouse,
  readJobs,
  type Session,
  serviceAccess,
} from '../compose.ts';
import { ConfigError, GmsiError } from '../errors.ts';
import { exitCodes } from '../exit.ts';
import type { Job } from '../job/job.ts';
import { likelyQuota } from '../job/schema.ts';
import { defaultServiceSettings } from '../job/service-settings.ts';
import { originOf } from '../pipeline/origin.ts';
import type { Ledger } from '../pipeline/request-budget.ts';
import { mostRequests } from '../probe/probe.ts';
import { type ProbeReport, probeService } from '../probe/probe-service.ts';
import { capRequests } from '../probe/request-cap.ts';
import { checkServer } from '../warehouse/connect.ts';
import { migrationStatus } from '../warehouse/migrate.ts';
import { clockDifference, missingPrivileges } from '../warehouse/queries/health.ts';
import { describeChange, describeProbe, probeAsJson } from './probe-report.ts';

export interface DoctorOptions {
  /** Find out what the service's document does not say. */
  readonly probe?: boolean;
  /** A job whose feed, series and settings are probed. */
  readonly job?: string;
  /** Take what the probe finds for what was learned before. */
  readonly accept?: boolean;
}

interface Finding {
  readonly check: string;
  readonly ok: boolean;
  readonly found: string;
  readonly mend?: string;
}

/** How far two clocks may differ before days could be taken as over that are not, in seconds. */
const tolerated = 60;

/**
 * `gmsi doctor`: looks at everything that a load needs, and says what to mend. Spends one request where a key is set;
 * with `--probe` up to 12, and a minute, to learn how the service behaves.
 */
export async function doctorCommand(session: Session, options: DoctorOptions): Promise<number> {
  if (!options.probe && (options.job || options.accept)) {
    throw new ConfigError('--job and --accept are for a probe.', { hint: 'Add --probe.' });
  }
  const [job] = options.job ? await readJobs(session, [options.job]) : [];
  const findings: Finding[] = [{ check: 'node', ok: true, found: process.version }];
  let warehouse: OpenWarehouse | undefined;
  let report: ProbeReport | undefined;
  try {
    await attempt(findings, 'warehouse', async () => {
      // The embedded warehouse is the program's own; somebody's database is only looked at.
      const isOurs = session.config.warehouse.kind === 'embedded';
      warehouse = await openWarehouse(session, isOurs || options.probe ? 'migrate' : 'as-is');
      return `${warehouse.description}, PostgreSQL ${(await checkServer(warehouse.db)).version}`;
    });
    if (warehouse) {
      const isMigrated = await checkWarehouse(findings, warehouse);
      if (await isServiceKnown(findings, session)) {
        if (options.probe) report = await checkByProbe(findings, session, warehouse, job, options);
        else await checkService(findings, session, warehouse, isMigrated);
      }
    }
  } finally {
    await warehouse?.[Symbol.asyncDispose]();
  }
  print(session, findings, report);
  return findings.every((finding) => finding.ok) ? exitCodes.done : exitCodes.doNotRetry;
}

/** @returns whether the schema is there and current */
async function checkWarehouse(findings: Finding[], { db }: OpenWarehouse): Promise<boolean> {
  let isMigrated = false;
  await attempt(findings, 'schema', async () => {
    const waiting = (await migrationStatus(db))
      .filter(({ executedAt }) => !executedAt)
      .map(({ name }) => name);
    isMigrated = waiting.length === 0;
    return waiting.length > 0 ? `not migrated yet (${waiting.join(', ')}); the next load does it` : 'current';
  });
  await attempt(findings, 'privileges', async () => {
    const missing = await missingPrivileges(db);
    if (missing.length > 0)
      throw new Mend(
        `the user lacks ${missing.join(', ')}`,
        'Grant it, or let gmsi migrate run as the owner.',
      );
    return 'enough to load';
  });
  await attempt(findings, 'clock', async () => {
    const seconds = await clockDifference(db);
    if (Math.abs(seconds) > tolerated)
      throw new Mend(
        `this machine is ${Math.round(seconds)} s off the warehouse's clock`,
        'Set both clocks by NTP: by the clock a load decides which days are over.',
      );
    return `within ${Math.max(1, Math.ceil(Math.abs(seconds)))} s of the warehouse`;
  });
  return isMigrated;
}

async function isServiceKnown(findings: Finding[], session: Session): Promise<boolean> {
  return attempt(findings, 'configuration', async () => {
    serviceAccess(session);
    return `${session.config.baseUrl}, with a key`;
  });
}

/** The probe asks more than enough to tell whether the service answers, so it takes that check's place. */
async function checkByProbe(
  findings: Finding[],
  session: Session,
  { db }: OpenWarehouse,
  job: Job | undefined,
  { accept = false }: DoctorOptions,
): Promise<ProbeReport | undefined> {
  // One try more where a request fails, and no more: each is one of the few.
  const settings = { ...(job?.service ?? defaultServiceSettings), maxAttempts: 2, concurrency: 1 };
  const limit = job?.budget.requestsPerMonth ?? likelyQuota;
  const cap = (ledger: Ledger) => capRequests(ledger, mostRequests);
  await using service = openService(session, db, settings, limit, cap);
  let report: ProbeReport | undefined;
  await attempt(findings, 'service', async () => {
    const { log, stop: signal } = session;
    const { client } = service;
    report = await probeService({ warehouse: db, client, job, accept, log, clock: systemClock, signal });
    return `answers and takes the key${client.servedBy === 'sandbox' ? ' (a sandbox)' : ''}`;
  });
  for (const lesson of report?.lessons ?? []) {
    if (lesson.standing === 'changed')
      findings.push({ check: 'changed', ok: false, ...describeChange(lesson) });
  }
  return report;
}

async function checkService(
  findings: Finding[],
  session: Session,
  { db }: OpenWarehouse,
  isMigrated: boolean,
): Promise<void> {
  if (!isMigrated) {
    // A request must be booked, and there is nowhere to book it yet.
    findings.push({
      check: 'service',
      ok: true,
      found: 'not asked: the warehouse has to be mended or migrated first',
    });
    return;
  }
  const settings = { ...defaultServiceSettings, maxAttempts: 1 };
  await using service = openService(session, db, settings, likelyQuota);
  await attempt(findings, 'service', async () => {
    const startedAt = performance.now();
    await service.client.getJson({ path: '/countries', query: {} }, session.stop);
    const ms = Math.round(performance.now() - startedAt);
    await originOf(db).check(service.client.servedBy);
    return `answers in ${ms} ms and takes the key${service.client.servedBy === 'sandbox' ? ' (a sandbox)' : ''}`;
  });
}

/** Something that works, but not well enough. */
class Mend extends Error {
  readonly hint: string;

  constructor(found: string, hint: string) {
    super(found);
    this.hint = hint;
  }
}

async function attempt(findings: Finding[], check: string, look: () => Promise<string>): Promise<boolean> {
  try {
    findings.push({ check, ok: true, found: await look() });
    return true;
  } catch (error) {
    // Both have exit codes of their own.
    if (error instanceof BudgetSpent || (error instanceof Error && error.name === 'AbortError')) throw error;
    const hint = error instanceof GmsiError || error instanceof Mend ? error.hint : undefined;
    const found = error instanceof Error ? error.message : String(error);
    findings.push({
      check: error instanceof KeyRefused ? 'key' : check,
      ok: false,
      found,
      ...(hint ? { mend: hint } : {}),
    });
    return false;
  }
}

function print(session: Session, findings: readonly Finding[], report: ProbeReport | undefined): void {
  if (session.json) {
    const probe = report && { probe: probeAsJson(report) };
    const ok = findings.every((finding) => finding.ok);
    process.stdout.write(`${JSON.stringify({ ok, findings, ...probe }, null, 2)}\n`);
    return;
  }
  const width = Math.max(...findings.map(({ check }) => check.length));
  for (const { check, ok, found, mend } of findings) {
    process.stdout.write(
      `${ok ? '✓' : '✗'} ${check.padEnd(width)}  ${found}\n${mend ? `  ${' '.repeat(width)}  → ${mend}\n` : ''}`,
    );
  }
  if (report) process.stdout.write(describeProbe(report));
}
