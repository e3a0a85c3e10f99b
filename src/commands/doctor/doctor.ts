import { arch, platform } from 'node:os';
import { sql } from 'kysely';
import { type Answer, answerReader, isOnlyBudget, jobStates } from '../../answer/answer.ts';
import {
  type OpenWarehouse,
  openService,
  openToRead,
  openUncounted,
  openWarehouse,
  readJobs,
  type Session,
  serviceAccess,
} from '../../compose.ts';
import type { Job } from '../../config/job.ts';
import { likelyQuota } from '../../config/job-keys.ts';
import { proxyName } from '../../config/proxies.ts';
import { defaultServiceSettings } from '../../config/service-schema.ts';
import { ConfigError, GmsiError, sentence } from '../../errors.ts';
import { exitCodes } from '../../exit.ts';
import { aheadBy, worthAWarning } from '../../load/clocks.ts';
import { build, inPackage } from '../../package.ts';
import { mostRequests } from '../../probe/ask.ts';
import { type ProbeReport, probeService } from '../../probe/probe-service.ts';
import type { Client } from '../../service/client.ts';
import { systemClock } from '../../service/clock.ts';
import { readDescription } from '../../service/description.ts';
import { capRequests } from '../../service/permits.ts';
import { printResult, snakeCased } from '../../terminal/print.ts';
import { nextStep } from '../../terminal/table.ts';
import { checkServer, placeOf, type Warehouse } from '../../warehouse/connect.ts';
import { migrationStatus } from '../../warehouse/migrate.ts';
import { keepDescription } from '../../warehouse/tables/learned.ts';
import { originOf } from '../../warehouse/tables/origin.ts';
import { tlsOptions } from '../../warehouse/tls.ts';
import { describeCauses } from '../answer-tables.ts';
import { type Command, examples, gmsiCommand, type OptionsOf } from '../command.ts';
import { standbyText } from '../standby.ts';
import {
  canBook,
  changesIn,
  describeDescription,
  describeFindings,
  describeProbe,
  type Finding,
  finding,
  NotChecked,
  probeAsJson,
  warehouseChecks,
} from './doctor-report.ts';
import { lookAtSafety } from './safety.ts';

const define = (doctor: Command) =>
  doctor
    .option(
      '--probe',
      'find out what the service does not document, such as how it reads end_date (at most 12 requests)',
    )
    .option(
      '--accept-changes',
      'with --probe: replace what earlier probes learned where the service answers otherwise now',
    )
    .option('--job <job>', "probe this job's feed and series, with its settings")
    .addHelpText('after', examples('gmsi doctor', 'gmsi doctor --probe --job g7-inflation'));

type DoctorOptions = OptionsOf<typeof define>;

/**
 * `gmsi doctor`: says what is wrong with the jobs, checks everything that a load needs, and says what to fix. Spends two requests if a key is set; with
 * `--probe` up to 12, to learn how the service behaves.
 */
export const doctor = gmsiCommand({ define, schemaUse: 'makes embedded' }, async (session, options) => {
  if (!options.probe && (options.job || options.acceptChanges))
    throw new ConfigError('--job and --accept-changes need --probe.', { hint: 'Add --probe.' });
  const [job] = options.job ? await readJobs(session, [options.job]) : [];
  let warehouse: OpenWarehouse | undefined;
  let asked: Awaited<ReturnType<typeof askService>>;
  let answer: Answer | undefined;
  const ofWarehouse: Finding[] = [];
  try {
    const opened = await finding('warehouse', async () => {
      warehouse = await openWarehouse(session, 'as-is');
      return `${warehouse.description}, PostgreSQL ${(await checkServer(warehouse.db)).version}`;
    });
    ofWarehouse.push(opened);
    ofWarehouse.push(await finding('encryption', () => checkEncryption(reached(warehouse))));
    for (const [check, look] of Object.entries(warehouseChecks))
      ofWarehouse.push(await finding(check, () => look(reached(warehouse).db)));
    const jobs = await finding('jobs', async () => {
      answer = await readAnswer(session, reached(warehouse).db);
      return describeStates(answer);
    });
    ofWarehouse.unshift(jobs);
    if (session.config.standby) ofWarehouse.push(await finding('standby', () => checkStandby(session)));
    asked = await askService(session, warehouse, job, options);
  } finally {
    await warehouse?.[Symbol.asyncDispose]();
  }
  const node = await finding('node', () => `${process.version} on ${platform()} ${arch()}; gmsi ${build}`);
  const safety = await finding('safety', () => lookAtSafety(session.config, process.cwd()));
  const { report, isBudgetSpent } = asked;
  const [jobs, ...others] = ofWarehouse;
  const findings = [
    jobs!,
    node,
    safety,
    ...asked.findings,
    ...others,
    ...(report ? changesIn(report, options.job) : []),
  ];
  const ok = findings.every((finding) => finding.ok !== false);
  const { causes = [] } = answer ?? {};
  const document = { ok, causes, findings, ...(report && { probe: probeAsJson(report) }) };
  printResult(session, snakeCased(document), () => {
    const next = findings.every((finding) => finding.ok) ? nextStep('status') : '';
    const toDo = causes.length > 0 ? `To do\n${describeCauses(causes)}\n\n` : '';
    return toDo + describeFindings(findings) + (report ? describeProbe(report) : '') + next;
  });
  if (!ok) return exitCodes.doNotRetry;
  return isBudgetSpent ? exitCodes.budget : exitCodes.done;
});

/** Returns how the jobs here stand. */
async function readAnswer(session: Session, db: Warehouse): Promise<Answer> {
  const migrations = await migrationStatus(db);
  if (migrations.some(({ executedAt }) => !executedAt)) throw new NotChecked('see schema');
  return answerReader(db, { ...session.config, clock: session.clock, cwd: process.cwd() })();
}

/** @throws ConfigError if a job is failing or stopped, other than by its budget: then doctor ends with that of a spent budget */
function describeStates(answer: Answer): Pick<Finding, 'found' | 'fix'> {
  const { jobs } = answer;
  if (jobs.length === 0) return { found: 'no file in jobs/ here' };
  const counts = jobStates.flatMap((state) => {
    const of = jobs.filter((one) => one.state === state);
    return of.length > 0 ? `${of.length} ${state}` : [];
  });
  const found = counts.join(', ');
  const isBad = jobs.some(({ state }) => state === 'failing' || state === 'stopped');
  if (isBad && !isOnlyBudget(answer)) throw new ConfigError(found, { hint: 'See "To do" above.' });
  return isBad || jobs.some(({ state }) => state === 'behind')
    ? { found, fix: 'See "To do" above.' }
    : { found };
}

function reached(warehouse: OpenWarehouse | undefined): OpenWarehouse {
  if (!warehouse) throw new NotChecked('the warehouse cannot be used');
  return warehouse;
}

/** Asks the service even if the warehouse fails, so that a refused key is reported too. */
async function askService(
  session: Session,
  warehouse: OpenWarehouse | undefined,
  job: Job | undefined,
  options: DoctorOptions,
) {
  const configuration = await finding('configuration', () => {
    const { baseUrl } = serviceAccess(session);
    const proxy = session.config.proxyFor?.(baseUrl);
    const direct = session.config.given.some((name) => name.endsWith('_PROXY')) ? ' without a proxy' : '';
    const through = proxy ? ` through the proxy ${proxyName(proxy)}` : direct;
    return `${baseUrl}${through}, with a key; set: ${session.config.given.join(', ')}`;
  });
  let report: ProbeReport | undefined;
  let isBudgetSpent = false;
  const service = await finding('service', async () => {
    if (!configuration.ok) throw new NotChecked('see configuration');
    try {
      if (!warehouse || !(await canBook(warehouse.db))) return await askUncounted(session, options.probe);
      if (!options.probe) return await askOnce(session, warehouse);
      await using opened = await openToProbe(session, warehouse.db, job);
      const { client } = opened;
      const about = { warehouse: warehouse.db, client, job, clock: systemClock, signal: session.stop };
      const acceptsChanges = options.acceptChanges ?? false;
      // Kept even if the clock turns out to be wrong.
      report = await probeService({ ...about, acceptsChanges });
      checkClockOf(client);
      return `answers and accepts the key${ofSandbox(client)}`;
    } catch (error) {
      if (!(error instanceof GmsiError) || error.kind !== 'budget') throw error;
      isBudgetSpent = true;
      throw new NotChecked(`${sentence(error.message)} ${error.hint}`);
    }
  });
  const findings = [configuration, service];
  if (!options.probe)
    findings.push(await finding('description', () => readItsDescription(session, warehouse, service)));
  return { findings, report, isBudgetSpent };
}

/** Sends one request that is not booked, because no warehouse can book it. */
async function askUncounted(session: Session, isProbe = false): Promise<string> {
  await using client = await openUncounted(session, askingOnce);
  const missed = isProbe ? '; nothing was probed' : '';
  return `${await timed(session, client)} (not counted, because the warehouse cannot book requests yet${missed})`;
}

async function askOnce(session: Session, { db }: OpenWarehouse): Promise<string> {
  await using service = await openService(session, db, askingOnce, likelyQuota);
  const found = await timed(session, service.client);
  await originOf(db).check(service.client.servedBy, service.client.answeredAt);
  return found;
}

const askingOnce = { ...defaultServiceSettings, maxAttempts: 1 };

async function timed(session: Session, client: Client): Promise<string> {
  const startedAt = performance.now();
  await client.getJson({ path: '/countries', query: {} }, session.stop);
  const ms = Math.round(performance.now() - startedAt);
  checkClockOf(client);
  return `answers in ${ms} ms and accepts the key${ofSandbox(client)}`;
}

/** The longest description that is read, in bytes. */
const longestDescription = 4 * 1024 * 1024;

/** Reads `/openapi.json` in one request, which is booked. A service need not have one, so a missing answer is not an error. */
async function readItsDescription(
  session: Session,
  warehouse: OpenWarehouse | undefined,
  { ok }: Finding,
): Promise<string | Pick<Finding, 'found' | 'fix'>> {
  if (!ok) throw new NotChecked('see service');
  if (!warehouse || !(await canBook(warehouse.db)))
    throw new NotChecked('the warehouse cannot book requests yet');
  const settings = { ...askingOnce, maxBodyBytes: longestDescription };
  await using service = await openService(session, warehouse.db, settings, likelyQuota);
  const request = { path: '/openapi.json', query: {}, isUnversioned: true };
  let document: unknown;
  try {
    document = await service.client.getJson(request, session.stop);
  } catch (error) {
    if (!(error instanceof GmsiError) || error.kind === 'warehouse') throw error;
    if (error.kind === 'budget') throw new NotChecked(error.message);
    return `none: ${error.message}`;
  }
  const read = readDescription(document);
  if (!read) return 'none: /openapi.json is not an OpenAPI document';
  return describeDescription(await keepDescription(warehouse.db, read), session.clock());
}

function checkClockOf({ serviceTime }: Client): void {
  const seconds = serviceTime ? Math.round(aheadBy(serviceTime, new Date()) / 1000) : 0;
  if (Math.abs(seconds) * 1000 <= worthAWarning) return;
  throw new ConfigError(
    `answers and accepts the key, but its clock is ${Math.abs(seconds)} s ${seconds > 0 ? 'ahead of' : 'behind'} this machine's`,
    {
      hint: 'Set the clock of this machine by NTP: if the clocks are over an hour apart, no load counts a day as covered.',
    },
  );
}

function ofSandbox({ servedBy }: Client): string {
  return servedBy === 'sandbox' ? ' (a sandbox)' : '';
}

/** A probe takes the place of the check of the service, because it also shows whether the service answers. */
function openToProbe(session: Session, db: Warehouse, job: Job | undefined) {
  // At most one more try of a request that fails, since each try counts toward the limit of the probe.
  const settings = { ...(job?.service ?? defaultServiceSettings), maxAttempts: 2, concurrency: 1 };
  const limit = job?.budget.requestsPerMonth ?? likelyQuota;
  return openService(session, db, settings, limit, capRequests(mostRequests));
}

async function checkStandby(session: Session): Promise<string> {
  await using warehouse = await openToRead(session, 'as-is');
  return standbyText(warehouse.standby) ?? 'takes writes, so it is not a standby';
}

/** Checks whether others could read the connection to the warehouse. */
async function checkEncryption({ db, address }: OpenWarehouse): Promise<Pick<Finding, 'found' | 'fix'>> {
  const { rows } = await sql<{ version: string | null }>`
    select version from pg_stat_ssl where pid = pg_backend_pid()`.execute(db);
  const { host, ...tls } = placeOf(address);
  if (rows[0]?.version) {
    const options = tlsOptions(tls);
    const isVerified = options && options.rejectUnauthorized !== false;
    const who = isVerified
      ? 'with a trusted certificate'
      : 'without verifying the server (sslmode=verify-full does)';
    return { found: `${rows[0].version}, ${who}` };
  }
  if (host.startsWith('/')) return { found: 'none needed: a socket of this machine' };
  if (/^(127\.|::1$|localhost$)/.test(host)) return { found: 'none needed: this machine itself' };
  return {
    found: `none: anybody on the network path to ${host} can read the login exchange and the data`,
    fix: `Add ?sslmode=verify-full to DATABASE_URL (${inPackage('docs/operating.md')}, "The database").`,
  };
}
