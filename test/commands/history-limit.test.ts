import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { backfillCommand } from '../../src/commands/backfill.ts';
import { lookupsCommand } from '../../src/commands/lookups.ts';
import { planCommand } from '../../src/commands/plan.ts';
import { statusCommand } from '../../src/commands/status.ts';
import { syncCommand } from '../../src/commands/sync.ts';
import type { Session } from '../../src/compose.ts';
import { type Sandbox, startSandbox } from '../../src/sandbox/index.ts';
import { aWarehouse, type TestWarehouse } from '../support/test-warehouse.ts';
import { heldBy, servedBy } from '../support/truth.ts';
import { watchRequests } from '../support/watch-requests.ts';
import { runCommand } from './run-command.ts';

const clock = () => new Date('2026-11-20T12:00:00Z');
const wanted = 'countries: [US, DE]\ntopics: [Inflation-Food]\nstart_date: 2024-01-01\nend_date: today\n';

let folder: string;
let warehouse: TestWarehouse;
let sandbox: Sandbox;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gmsi-jobs-'));
  warehouse = await aWarehouse();
  // Answers from 2026-08-12 on.
  sandbox = await startSandbox({ limits: null, clock, historyLimitDays: 100, volume: 0.1 });
  await run((session) => lookupsCommand(session, { parameter: 'keywords' }));
});

afterEach(async () => {
  await sandbox.stop();
  await warehouse[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

const run = (command: (session: Session) => Promise<number>, json = false) =>
  runCommand({ warehouse, sandbox, json }, command);

async function aFile(more: string): Promise<string> {
  const path = join(folder, 'job.yaml');
  await writeFile(path, `${wanted}${more}`);
  return path;
}

const commands = (path: string) => ({
  plan: (session: Session) => planCommand(session, [path], {}),
  backfill: (session: Session) => backfillCommand(session, [path], {}),
  again: (session: Session) => backfillCommand(session, [path], {}),
  sync: (session: Session) => syncCommand(session, [path]),
  status: (session: Session) => statusCommand(session, [path]),
});

/** Every command says that the period is shortened, as text and as JSON; none of them meets a refusal. */
async function expectNamed(path: string, line: string, historyLimit: object): Promise<void> {
  for (const [name, command] of Object.entries(commands(path))) {
    const text = await run(command);
    expect([name, /^history limit +(.*)$/m.exec(text.output)?.[1]]).toEqual([name, line]);
    expect([name, text.code]).toEqual([name, 0]);
    const json = await run(command, true);
    expect([name, JSON.parse(json.output).jobs[0].historyLimit]).toEqual([name, historyLimit]);
  }
}

it('from the job file ends runs well, and is named in every plan and result', async () => {
  const path = await aFile('history_limit: 2026-08-12\n');
  const requests = watchRequests(sandbox);
  const line = '2026-08-12, from the job file: 954 days before it are not asked for';
  await expectNamed(path, line, { firstDay: '2026-08-12', by: 'job', days: 954 });
  expect(requests.every(({ query }) => (query.start_date ?? '2026-08-12') >= '2026-08-12')).toBe(true);
  const loaded = {
    countries: ['US', 'DE'],
    topics: ['Inflation-Food'],
    from: '2026-08-12',
    to: '2026-11-20',
  };
  expect(await heldBy(warehouse.db, loaded)).toEqual(servedBy(sandbox, loaded));
});

it('from the job file may be a time before today', async () => {
  const line = '2026-08-20, from the job file: 962 days before it are not asked for';
  await expectNamed(await aFile('history_limit: P3M\n'), line, {
    firstDay: '2026-08-20',
    by: 'job',
    days: 962,
  });
});

it('that a probe has learned is named as such', async () => {
  const value = JSON.stringify({ answered: '2026-08-12', refused: '2026-08-11', asked_on: '2026-11-20' });
  const fact = { feed: 'gmsi-headlines', fact: 'history_limit', value, evidence: 'a test' };
  await warehouse.db.insertInto('learned_facts').values(fact).execute();
  const line = '2026-08-12, as a probe has learned: 954 days before it are not asked for';
  await expectNamed(await aFile(''), line, { firstDay: '2026-08-12', by: 'probe', days: 954 });
});

it('that lies after a fixed end asks for nothing, and says so', async () => {
  const value = JSON.stringify({ answered: '2026-08-12', refused: '2026-08-11', asked_on: '2026-11-20' });
  const fact = { feed: 'gmsi-headlines', fact: 'history_limit', value, evidence: 'a test' };
  await warehouse.db.insertInto('learned_facts').values(fact).execute();
  const path = join(folder, 'old.yaml');
  await writeFile(path, wanted.replace('end_date: today', 'end_date: 2024-12-31'));
  const requests = watchRequests(sandbox);
  const { output, code } = await run(commands(path).backfill);
  expect(output).toContain('old: nothing is asked for');
  expect(output).toContain(
    'history limit 2026-08-12, as a probe has learned: 366 days before it are not asked for',
  );
  expect(code).toBe(0);
  await expect(run(commands(path).plan)).rejects.toThrow(
    'Nothing of old is asked for: history limit 2026-08-12',
  );
  expect(requests).toEqual([]);
});
