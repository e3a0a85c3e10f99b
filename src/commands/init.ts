import { existsSync } from 'node:fs';
import { copyFile, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as clack from '@clack/prompts';
import { stringify } from 'yaml';
import { startSandbox } from '#sandbox';
import { openService, openWarehouse, type Session, today } from '../compose.ts';
import { overruled, readBaseUrl, readConfig, readWarehouse } from '../config/environment.ts';
import { aboutExamples } from '../config/find-job-file.ts';
import { findNames, type Named } from '../config/find-names.ts';
import type { Job } from '../config/job.ts';
import { likelyQuota } from '../config/job-keys.ts';
import { jobFromDefinition } from '../config/read-job.ts';
import { defaultServiceSettings } from '../config/service-schema.ts';
import { ignoreInGit, writeDotenv } from '../config/write-dotenv.ts';
import { ConfigError, GmsiError, sentence } from '../errors.ts';
import { exitCodes, explain } from '../exit.ts';
import { feedNamed } from '../feeds/catalog.ts';
import { refreshList } from '../load/resolve-load.ts';
import { inPackage } from '../package.ts';
import { costOfSchedule, lackingReserve } from '../plan/schedule-cost.ts';
import { day } from '../terminal/arguments.ts';
import { createLog } from '../terminal/log.ts';
import { output } from '../terminal/print.ts';
import { withoutMarks } from '../terminal/style.ts';
import { asTyped, number } from '../terminal/table.ts';
import { printable } from '../terminal/text.ts';
import { wrapped } from '../terminal/wrap.ts';
import { readLookups, type StoredLookups } from '../warehouse/tables/lookups.ts';
import { originOf } from '../warehouse/tables/origin.ts';
import { type Command, examples, gmsiCommand } from './command.ts';

const sandbox = { GMSI_BASE_URL: 'http://127.0.0.1:8425', GMSI_API_KEY: 'sandbox-key' };

const define = (init: Command) => init.addHelpText('after', examples('gmsi init'));

/**
 * `gmsi init`: asks for the key and the addresses, unless they are set already, and for a job, tries them, and writes `.env` and
 * the job file. Sends two requests, for the lists of countries and topics.
 */
export const init = gmsiCommand({ define, schemaUse: 'upgrades' }, async (session) => {
  if (!process.stdin.isTTY || !output.isTTY) {
    throw new ConfigError('gmsi init asks questions, so it needs a terminal.', {
      hint: `Elsewhere, copy ${inPackage('.env.example')} to .env and fill it in. ${aboutExamples(process.cwd())}`,
    });
  }
  clack.intro('gmsi init');
  const written: string[] = [];
  try {
    const { lookups, isSandbox } = await connected(session, written);
    const name = await firstJob(session, lookups, written);
    if (!isSandbox) say('info', archives);
    const first = isSandbox ? `In another terminal: ${asTyped('sandbox')}\n   Then:` : 'Next:';
    clack.outro(`${first} ${asTyped(name === undefined ? 'status' : `plan ${name}`)}`);
    return;
  } catch (error) {
    if (!(error instanceof Cancelled)) throw error;
    clack.cancel(
      written.length === 0
        ? 'Nothing was written.'
        : `Only ${written.join(' and ')} ${written.length === 1 ? 'was' : 'were'} written.`,
    );
    return exitCodes.interrupted;
  }
});

const archives =
  `Do you have the vendor's bulk archives? They load without a request: ${asTyped('import <folder>')}\n` +
  'The job then loads only what they lack.';

/** Prints a text to the right of the bar before it, broken between words; clack itself would break words. */
function say(kind: 'info' | 'success' | 'warn' | 'error', text: string): void {
  clack.log[kind](wrapped(text, output.columns - 3));
}

/** Ctrl-C or Escape instead of an answer. */
class Cancelled extends Error {}

/**
 * Asks until the service and the warehouse work, each again only if it does not, and writes their addresses to `.env`. Asks
 * nothing if they are set and work already.
 */
async function connected({ config, ...session }: Session, written: string[]) {
  const isSet = config.apiKey !== undefined && config.baseUrl !== undefined;
  let service = isSet ? undefined : await askForService(undefined);
  let database = isSet ? undefined : await askForDatabase();
  for (;;) {
    const address = service?.GMSI_BASE_URL ?? config.baseUrl;
    const isSandbox = address === sandbox.GMSI_BASE_URL;
    const answers = { ...service, ...database };
    const result = await tryOut({ config, ...session }, answers, isSandbox);
    if ('lookups' in result) {
      if (service ?? database) await save(answers, written);
      else say('success', `${address} and ${result.warehouse} work. To use others, change .env.`);
      return { lookups: result.lookups, isSandbox };
    }
    say('error', withoutMarks(explain(result.error, false).trimEnd()));
    if (result.isOf === 'warehouse') database = await askForDatabase();
    else service = await askForService(isSandbox ? undefined : address);
  }
}

async function save(answers: Answers, written: string[]): Promise<void> {
  const file = await writeDotenv(process.cwd(), answers);
  written.push('.env');
  for (const name of overruled(answers))
    say(
      'warn',
      `${name} is also set in the environment, which takes precedence over ${file}: unset it there.`,
    );
  const { isIgnored, isChanged } = await ignoreInGit(process.cwd(), ['.env', '.gmsi']);
  if (isChanged) written.push('.gitignore');
  const what = answers.GMSI_API_KEY === sandbox.GMSI_API_KEY ? "the sandbox's address and key" : 'your key';
  const kept = isIgnored ? '; .gitignore keeps it out of git' : '';
  say('success', `Service and warehouse work. Saved to ${file}, which contains ${what}${kept}.`);
}

/** Variables for `.env`, where `undefined` comments one out. */
type Answers = Readonly<Record<string, string | undefined>>;

/** @param before an address that did not work, which is offered again */
async function askForService(before: string | undefined): Promise<Answers> {
  const kind = await answered(
    clack.select({
      message: 'Do you have an API key for the service?',
      options: [
        { value: 'vendor', label: 'Yes', hint: 'the vendor gives you a key and an address' },
        { value: 'sandbox', label: 'Not yet', hint: 'made-up headlines from a sandbox on this machine' },
      ],
    }),
  );
  if (kind === 'sandbox') return sandbox;
  const address = await answered(
    clack.text({
      message: 'Address of the service',
      placeholder: 'https://…',
      ...(before && { initialValue: before }),
      validate: (value) => problemOf(() => readBaseUrl('It', required(value))),
    }),
  );
  const key = await answered(
    clack.password({ message: 'API key', validate: (value) => problemOf(() => required(value)) }),
  );
  return { GMSI_BASE_URL: address.trim(), GMSI_API_KEY: key.trim() };
}

async function askForDatabase(): Promise<Answers> {
  const kind = await answered(
    clack.select({
      message: 'Where should the headlines go?',
      options: [
        { value: 'embedded', label: 'Embedded PostgreSQL', hint: 'nothing to install; in .gmsi' },
        { value: 'own', label: 'A PostgreSQL of your own', hint: '15 or newer' },
      ],
    }),
  );
  if (kind === 'embedded') return { DATABASE_URL: undefined };
  // Hidden, because it contains a password.
  const url = await answered(
    clack.password({
      message: 'Database URL, such as postgres://user:password@host:5432/database',
      validate: (value) => problemOf(() => readWarehouse({ DATABASE_URL: required(value) })),
    }),
  );
  return { DATABASE_URL: url.trim() };
}

/** Opens the warehouse and asks the service for its countries and topics; says which of them does not work. */
async function tryOut(
  given: Session,
  answers: Answers,
  isSandbox: boolean,
): Promise<
  | { readonly lookups: StoredLookups; readonly warehouse: string }
  | { readonly isOf: 'warehouse' | 'service'; readonly error: GmsiError }
> {
  const progress = clack.spinner();
  progress.start('Opening the warehouse');
  let isOf: 'warehouse' | 'service' = 'warehouse';
  try {
    const config = readConfig(undefined, undefined, answers);
    // A line of the log would break into the prompt.
    const session = { ...given, config, log: createLog({ level: 'silent', readable: true }) };
    await using warehouse = await openWarehouse(session);
    isOf = 'service';
    progress.message('Asking the service for its countries and topics');
    // For the lookups only; loads use the sandbox that the user starts with `gmsi sandbox`.
    await using service = isSandbox
      ? await startSandbox({ limits: null, keys: [config.apiKey!.reveal()] })
      : undefined;
    await using connection = await openService(
      service ? { ...session, config: { ...config, baseUrl: service.url, proxyFor: undefined } } : session,
      warehouse.db,
      { ...defaultServiceSettings, maxAttempts: 1 },
      likelyQuota,
    );
    const origin = originOf(warehouse.db);
    const at = { clock: session.clock, signal: session.stop };
    for (const list of ['countries', 'topics'] as const)
      await refreshList(warehouse.db, connection.client, origin, list, at);
    const lookups = await readLookups(warehouse.db);
    progress.stop(`${lookups.countries.length} countries, ${lookups.topics.length} topics`);
    return { lookups, warehouse: warehouse.description };
  } catch (error) {
    progress.error(`The ${isOf} cannot be used yet`);
    if (!(error instanceof GmsiError)) throw error;
    return { isOf, error };
  }
}

/** Asks for a first job and writes it. @returns its name, if one was wanted */
async function firstJob(
  session: Session,
  lookups: StoredLookups,
  written: string[],
): Promise<string | undefined> {
  if (!(await answered(clack.confirm({ message: 'Make a job file?' })))) return undefined;
  const countries = await chosen('Countries', lookups.countries);
  const topics = await chosen(
    'Topics',
    lookups.topics.map(({ name }) => ({ code: name })),
  );
  const start = await answered(
    clack.text({
      message: 'Load headlines from which day?',
      initialValue: today(session).subtract({ years: 1 }).toString(),
      validate: (value) => problemOf(() => day(value ?? '')),
    }),
  );
  const isScheduled = await answered(
    clack.confirm({ message: `Load new headlines every hour, while ${asTyped('work')} runs?` }),
  );
  const name = await answered(
    clack.text({
      message: 'Name of the job',
      initialValue: 'first',
      validate: (value) => problemOf(() => freeName(value ?? '')),
    }),
  );
  await mkdir('jobs', { recursive: true });
  await copyFile(inPackage('jobs/job.schema.json'), join('jobs', 'job.schema.json'));
  const job = {
    feed: 'gmsi-headlines',
    countries,
    topics,
    start_date: start,
    end_date: 'today',
    ...(isScheduled && { schedule: { sync: '15 * * * *', backfill: '0 1 * * *' } }),
  };
  const reserve = reserveOf(
    jobFromDefinition(name, job, today(session)),
    countries.length * topics.length,
    session.clock(),
  );
  const head =
    '# yaml-language-server: $schema=./job.schema.json\n# All settings: job.schema.json, which editors read.\n\n';
  await writeFile(
    pathOf(name),
    head + stringify({ ...job, ...(reserve !== undefined && { budget: { reserve } }) }),
    { flag: 'wx' },
  );
  written.push(pathOf(name));
  const kept =
    reserve === undefined ? '' : ` Backfills leave ${number(reserve)} of the month's requests to syncs.`;
  say('success', `Saved to ${pathOf(name)}.${kept} ${aboutExamples(process.cwd())}`);
  return name;
}

/** Offers the names that fit what is typed, the surest first, as the page finds them. */
function chosen(what: string, all: readonly Named[]): Promise<string[]> {
  const question = clack.autocompleteMultiselect({
    message: `${what} (Tab or Space selects, Enter ends)`,
    // The options fit already.
    filter: () => true,
    options(this: { readonly userInput: string }) {
      return findNames(all, this.userInput).map(({ code, name }) => ({
        value: code,
        label: printable(name ? `${code} ${name}` : code),
      }));
    },
    required: true,
    maxItems: 8,
  });
  return answered(question);
}

/** Returns the reserve that the job lacks, for which `gmsi plan` would ask. */
function reserveOf(job: Job, series: number, now: Date): number | undefined {
  const { schedule, budget } = job;
  if (!schedule) return undefined;
  const hasLive = feedNamed(job.feed).live !== undefined;
  const cost = costOfSchedule({ ...job, schedule }, { series, hasLive }, { from: now, days: 30 });
  return lackingReserve(budget, cost);
}

function pathOf(name: string): string {
  return join('jobs', `${name}.yaml`);
}

function freeName(name: string): void {
  if (!/^[\w-]+$/.test(name)) throw new ConfigError('Letters, digits, - and _ only.');
  if (existsSync(pathOf(name))) throw new ConfigError(`${pathOf(name)} already exists.`);
}

function required(value: string | undefined): string {
  if (!value?.trim()) throw new ConfigError('It cannot be empty.');
  return value.trim();
}

/** Returns why an answer is not accepted; `undefined` if it is. */
function problemOf(check: () => unknown): string | undefined {
  try {
    check();
    return undefined;
  } catch (error) {
    const { message, hint } = error as Error & { hint?: string };
    return hint === undefined ? message : `${sentence(message)} ${hint}`;
  }
}

/** Waits for an answer; Ctrl-C and Escape end the command. */
async function answered<T>(answer: Promise<T>): Promise<Exclude<T, symbol>> {
  const value = await answer;
  if (!clack.isCancel(value)) return value as Exclude<T, symbol>;
  throw new Cancelled('Cancelled');
}
