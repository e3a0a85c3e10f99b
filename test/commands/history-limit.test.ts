import { Temporal } from 'temporal-polyfill';
import { beforeEach, expect, it } from 'vitest';
import { backfill, sync } from '../../src/commands/load.ts';
import { lookups } from '../../src/commands/lookups.ts';
import { plan } from '../../src/commands/plan.ts';
import { status } from '../../src/commands/status.ts';
import type { Session } from '../../src/compose.ts';
import { aPlace } from '../cli/place.ts';
import { heldBy, servedBy } from '../support/truth.ts';
import { watchRequests } from '../support/watch-requests.ts';
import { runCommand } from './run-command.ts';

// The day is today's: no day is covered while the clocks of the database and of the run are days apart.
const now = new Date();
const clock = () => now;
const today = Temporal.PlainDate.from(now.toISOString().slice(0, 10));
const before = (reach: Temporal.DurationLike) => today.subtract(reach).toString();
const start = before({ days: 1000 });
const limit = before({ days: 100 });
const wanted = `countries: [US, DE]\ntopics: [Inflation-Food]\nstart_date: ${start}\nend_date: today\n`;
const learned = JSON.stringify({ answered: limit, refused: before({ days: 101 }), asked_on: `${today}` });

let place: Awaited<ReturnType<typeof aPlace>>;
beforeEach(async () => {
  place = await aPlace({ clock, historyLimitDays: 100, volume: 0.1 });
  await run((session) => lookups.run(session, undefined, {}));
  return () => place[Symbol.asyncDispose]();
});

const run = (command: (session: Session) => Promise<number | undefined>, json = false) =>
  runCommand({ ...place, json, clock }, command);

const aFile = (more: string) => place.folder.write('job.yaml', `${wanted}${more}`);

const commands = (path: string) => ({
  plan: (session: Session) => plan.run(session, [path], {}),
  backfill: (session: Session) => backfill.run(session, [path], {}),
  again: (session: Session) => backfill.run(session, [path], {}),
  sync: (session: Session) => sync.run(session, [path], {}),
  status: (session: Session) => status.run(session, [path], {}),
});

/** Each of these commands says that the period is shortened, as text and as JSON; none of them meets a refusal. */
async function expectNamed(
  some: Partial<ReturnType<typeof commands>>,
  line: string,
  historyLimit: object,
): Promise<void> {
  for (const [name, command] of Object.entries(some)) {
    const text = await run(command);
    expect([name, /^history limit +(.*)$/m.exec(text.output)?.[1]]).toEqual([name, line]);
    expect([name, text.code]).toEqual([name, 0]);
    const json = await run(command, true);
    expect([name, JSON.parse(json.output).jobs[0].history_limit]).toEqual([name, historyLimit]);
  }
}

it('from the job file ends runs well, and is named in every plan and result', async () => {
  const path = await aFile(`history_limit: ${limit}\n`);
  const requests = watchRequests(place.sandbox);
  const line = `${limit}, from the job file: 900 earlier days are not requested`;
  await expectNamed(commands(path), line, { first_day: limit, by: 'job', days: 900 });
  expect(requests.every(({ query }) => (query.start_date ?? limit) >= limit)).toBe(true);
  const loaded = { countries: ['US', 'DE'], topics: ['Inflation-Food'], from: limit, to: `${today}` };
  expect(await heldBy(place.warehouse.db, loaded)).toEqual(servedBy(place.sandbox, loaded));
});

it('that a probe has learned is named as such', async () => {
  const fact = { feed: 'gmsi-headlines', fact: 'history_limit', value: learned, evidence: 'a test' };
  await place.warehouse.db.insertInto('gmsi.learned_facts').values(fact).execute();
  const line = `${limit}, as a probe has learned: 900 earlier days are not requested`;
  const { plan, status } = commands(await aFile(''));
  await expectNamed({ plan, status }, line, { first_day: limit, by: 'probe', days: 900 });
});

it('that lies after a fixed end asks for nothing, and says so', async () => {
  const fact = { feed: 'gmsi-headlines', fact: 'history_limit', value: learned, evidence: 'a test' };
  await place.warehouse.db.insertInto('gmsi.learned_facts').values(fact).execute();
  const text = wanted.replace('end_date: today', `end_date: ${before({ days: 501 })}`);
  const path = await place.folder.write('old.yaml', text);
  const requests = watchRequests(place.sandbox);
  const { output, code } = await run(commands(path).backfill);
  expect(output).toContain('old: nothing to request');
  expect(output).toContain(
    `history limit ${limit}, as a probe has learned: 500 earlier days are not requested`,
  );
  expect(code).toBe(0);
  await expect(run(commands(path).plan)).rejects.toThrow(`old requests nothing: history limit ${limit}`);
  expect(requests).toEqual([]);
});
