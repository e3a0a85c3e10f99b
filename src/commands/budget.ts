import { Option } from '@commander-js/extra-typings';
import { openWarehouse, type Session } from '../compose.ts';
import type { Job } from '../config/job.ts';
import { ConfigError } from '../errors.ts';
import { knownNames } from '../nearest.ts';
import { type RequestsOfKey, requestsByKey } from '../questions/runs.ts';
import { countedAs, monthOf } from '../service/budget.ts';
import { wholeNumber } from '../terminal/arguments.ts';
import { printResult } from '../terminal/print.ts';
import { type Columns, count, number, ofLimit, share, tableOf } from '../terminal/table.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import { knownKeys, mergeRequests, setRequests, usedRequests } from '../warehouse/tables/requests.ts';
import { type Command, examples, gmsiCommand } from './command.ts';
import { ownJobs } from './named-jobs.ts';

/** More than any budget, and sums of such counts stay exact. */
const mostRequests = 1_000_000_000;

const define = (budget: Command) =>
  budget
    .option(
      '--set <requests>',
      'set the count of this month (UTC) to what the vendor counts',
      wholeNumber({ to: mostRequests }),
    )
    .option(
      '--key <fingerprint>',
      'with --set: the key to set, as the list shows it (default: the key in use)',
    )
    .addOption(
      new Option(
        '--merge <fingerprint>',
        'add the counts of another key, such as the old one, to those of the key in use',
      ).conflicts(['set', 'key']),
    )
    .addHelpText(
      'after',
      examples('gmsi budget', 'gmsi budget --set 123456', 'gmsi budget --merge 0f1e2d3c4b5a'),
    );

/** `gmsi budget`: shows the requests booked for each key, and corrects them; sends no request. */
export const budget = gmsiCommand({ define }, async (session, { set, key, merge }) => {
  if (key !== undefined && set === undefined)
    throw new ConfigError('--key needs --set.', { hint: 'For example: --set 123456 --key <fingerprint>' });
  const { apiKey } = session.config;
  const own = apiKey && countedAs(apiKey);
  const month = monthOf(session.clock());
  await using warehouse = await openWarehouse(session);
  const { db, patient } = warehouse;
  for (const other of [key, merge])
    if (other !== undefined && other !== own) await refuseUnknown(patient, other);
  if (set !== undefined) await setRequests(db, key ?? own ?? noKey('--set'), month, set);
  if (merge !== undefined) {
    const into = own ?? noKey('--merge');
    if (merge === into) throw new ConfigError(`${merge} is the key in use.`, { hint: 'Name another key.' });
    await mergeRequests(patient, merge, into);
  }
  const requests = await booked(db, own, month);
  const budgets = await budgetsOf(session, db, (await ownJobs(session)).jobs);
  printResult(session, { requests, budgets }, () => {
    const listed = tableOf(requests, { month: 'month', ...requestColumns });
    return `${[listed || 'No request is booked yet.', ...budgets.map(describeBudget)].join('\n\n')}\n`;
  });
});

/** @throws ConfigError without the text: somebody may have typed the key itself */
async function refuseUnknown(db: Warehouse, key: string): Promise<void> {
  const known = await knownKeys(db);
  if (known.includes(key)) return;
  throw new ConfigError('No requests are booked for this fingerprint.', {
    hint: known.length > 0 ? knownNames(key, known) : 'None are booked for any key yet.',
  });
}

function noKey(option: string): never {
  const other = option === '--set' ? ', or name a key with --key' : '';
  throw new ConfigError(`${option} needs the key in use.`, { hint: `Set GMSI_API_KEY${other}.` });
}

/** Returns all counts; that of the key in use for this month even if it is zero. */
async function booked(db: Warehouse, own: string | undefined, month: string): Promise<RequestsOfKey[]> {
  const { rows } = await requestsByKey(own ?? null).query.execute(db);
  const current = month.slice(0, 7);
  if (own === undefined || rows.some((row) => row.is_own && row.month === current)) return rows;
  return [{ month: current, key: own, is_own: true, requests: 0 }, ...rows];
}

/** Also of `gmsi status`. */
export const requestColumns: Columns<RequestsOfKey> = {
  key: ({ key, is_own }) => (is_own ? `${key} (this key)` : key),
  requests: 'requests',
};

type Budget = Awaited<ReturnType<typeof budgetsOf>>[number];

/** Returns the budgets of jobs and what is used of them this month; none without a key, because each key has its own count. */
export async function budgetsOf({ config: { apiKey }, clock }: Session, db: Warehouse, jobs: readonly Job[]) {
  if (!apiKey) return [];
  const month = monthOf(clock());
  const used = await usedRequests(db, countedAs(apiKey), month);
  const budgets = new Map(jobs.map(({ budget }) => [JSON.stringify(budget), budget]));
  return [...budgets].map(([text, { requestsPerMonth: limit, reserve }]) => {
    const alike = jobs.filter(({ budget }) => JSON.stringify(budget) === text);
    const left = Math.max(0, limit - used);
    return { month: month.slice(0, 7), jobs: alike.map(({ name }) => name), used, limit, reserve, left };
  });
}

export function describeBudget({ jobs, month, used, limit, reserve, left }: Budget): string {
  const whose = jobs.length > 3 ? count(jobs.length, 'job') : jobs.join(', ');
  const kept = reserve > 0 ? `${number(reserve)} kept for syncs, ` : '';
  return `${ofLimit(used, limit)} in ${month} (${share(Math.min(used, limit), limit)}), ${number(left)} left, ${kept}budget of ${whose}`;
}
