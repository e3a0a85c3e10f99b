import { join } from 'node:path';
import { sql } from 'kysely';
import { beforeAll, expect, test } from 'vitest';
import { backfill } from '../../src/commands/load.ts';
import { lookups } from '../../src/commands/lookups.ts';
import { plan as planCommand } from '../../src/commands/plan.ts';
import { status as statusCommand } from '../../src/commands/status.ts';
import { aPlaceForAll } from '../cli/place.ts';
import { runCommand } from './run-command.ts';

const period = 'start_date: 2026-10-01\nend_date: 2026-10-02\n';
const files = {
  events: `feed: ticker-events\ntickers: ["*_IND"]\nparameters: { event_type: Combined }\n${period}`,
  index: `feed: gmsi-index\ncountries: [US, NO]\ntopics: [Elections]\n${period}`,
  query: `feed: event-metrics-query\nbody: { tickers: [BTC_CRY] }\n${period}`,
};

// Two series fail, so that status has something to report.
const match = ({ path, query }: { path: string; query: Readonly<Record<string, string>> }) =>
  path.endsWith('/USA_IND') || (path.endsWith('/NO') && query.sentiment_type === 'directional');
const script = [{ kind: 'refuse' as const, status: 422, times: 1000, match }];
// The database's: days are covered only if all clocks agree.
const clock = () => new Date();
const { folder, warehouse, sandbox } = await aPlaceForAll({ clock, faults: { script } });
const pathOf = (name: keyof typeof files) => join(folder.path, `${name}.yaml`);

beforeAll(async () => {
  for (const [name, text] of Object.entries(files)) await folder.write(`${name}.yaml`, text);
  const place = { warehouse, sandbox, clock };
  await runCommand(place, (session) => lookups.run(session, undefined, {}));
  await runCommand(place, (session) => backfill.run(session, [pathOf('events'), pathOf('index')], {}));
});

const plan = async (name: keyof typeof files, json = false) =>
  (await runCommand({ warehouse, sandbox, json }, (session) => planCommand.run(session, [pathOf(name)], {})))
    .output;
type Name = keyof typeof files;
const everything: readonly Name[] = [];
const status = async (json = false, names: readonly Name[] = ['events', 'index', 'query']) =>
  (
    await runCommand({ warehouse, sandbox, json }, (session) =>
      statusCommand.run(session, names.map(pathOf), {}),
    )
  ).output;

test.each([
  ['events', /^10 tickers, event_type=Combined$/],
  ['index', /^2 countries × 1 topic × 2 variants, COMBINED$/],
  ['query', /^one, body=[0-9a-f]{12}$/],
] as const)('plan names what %s is asked for', async (name, series) => {
  const [, found] = /^series +(.*)$/m.exec(await plan(name)) ?? [];
  expect(found).toMatch(series);
});

test('plan suggests to load only with a key, and to set one up without', async () => {
  const suggested = async (hasKey: boolean) => {
    const { output } = await runCommand({ warehouse, sandbox }, (session) =>
      planCommand.run(
        hasKey ? session : { ...session, config: { ...session.config, apiKey: undefined } },
        [pathOf('query')],
        {},
      ),
    );
    return /^Next: (.*)$/m.exec(output)?.[1];
  };
  expect(await suggested(true)).toMatch(/^gmsi backfill .*query.yaml"?$/);
  expect(await suggested(false)).toBe('gmsi init');
});

test('plan has it as JSON, without what the feed is not by', async () => {
  const [events] = JSON.parse(await plan('events', true)).jobs;
  expect(events).toMatchObject({
    feed: 'ticker-events',
    series: 10,
    selection: { countries: [], topics: [], match_type: '', variants: ['event_type=Combined'] },
  });
  expect(events.selection.tickers).toContain('EUR_IND');
});

test('status shows what failed, why, and the command that retries it', async () => {
  const lines = (await status()).split('\n');
  const [head, ...rows] = lines.slice(lines.indexOf('To do') + 1);
  expect(head?.split(/ {2,}/).join()).toBe('job,what,why,about,to do,requests');
  const failed = rows.slice(0, rows.indexOf('')).join('\n');
  expect(failed).toMatch(
    /^events +1 window was refused .* 422.* USA_IND event_type=Combined; 2026-10-01 to 2026-10-02 /m,
  );
  expect(failed).toMatch(
    /^index +1 window was refused .* NO Elections sentiment_type=directional; 2026-10-01 /m,
  );
  expect(failed).toMatch(/^events .* gmsi backfill .*events.* --retry-refused +1$/m);
});

test('status shows no column that nothing is in', async () => {
  const lines = (await status(false, everything)).split('\n');
  const columns = lines[lines.indexOf('Jobs') + 1]!.split(/ {2,}/);
  expect(columns).toContain('why');
  expect(columns).not.toContain('next run (UTC)');
});

test('status of a job is about that job: its loads, its failed windows, and no sums over others', async () => {
  const events = JSON.parse(await status(true, ['events']));
  const keys = 'warehouse,jobs,causes,workers,schedules,loads,rescorings,requests,budgets';
  expect(Object.keys(events).join()).toBe(keys);
  const feedsOf = ({ causes }: { causes: { feed: string; windows: number | null }[] }) =>
    new Set(causes.filter(({ windows }) => windows !== null).map(({ feed }) => feed));
  expect(feedsOf(events)).toEqual(new Set(['ticker-events']));
  const jobsOf = ({ loads }: { loads: { job: string }[] }) => new Set(loads.map(({ job }) => job));
  expect(jobsOf(events)).toEqual(new Set(['events']));

  const all = JSON.parse(await status(true, everything));
  expect(feedsOf(all).size).toBeGreaterThan(1);
  expect(jobsOf(all).size).toBeGreaterThan(1);
});

test('status says by the lease, not by a clock of its own, whether a load without an end is running or was killed', async () => {
  await sql`
    with processes as (
      insert into gmsi.processes (process_id, command, run_by, version, heartbeat_at)
      values ('silent', 'backfill', 'nobody', '0', now() - interval '1 minute'),
             ('busy', 'backfill', 'nobody', '0', now() - interval '1 second')
      returning process_id
    )
    insert into gmsi.loads (command, job, feed, run_by, process_id)
    select 'backfill', process_id, 'gmsi-headlines', 'nobody', process_id from processes
  `.execute(warehouse.db);
  const { loads } = JSON.parse(await status(true, everything));
  const stateOf = (name: string) => loads.find(({ job }: { job: string }) => job === name).state;
  expect([stateOf('busy'), stateOf('silent')]).toEqual(['running', 'killed']);
});

test('both say which names of a job the service no longer lists, and nothing is planned for them', async () => {
  await sql`update gmsi.countries set listed = false where country = 'NO'`.execute(warehouse.db);
  const words = 'The service no longer lists country NO, so its missing days are not loaded.';
  expect(await status(false, ['index'])).toMatch(
    new RegExp(`^index +not listed: country NO +${words} .* gmsi lookups +5$`, 'm'),
  );
  expect(await plan('index')).toMatch(
    /^series +1 country × .*\n(.*\n)*not listed +The service no longer lists country NO/m,
  );
  expect(JSON.parse(await plan('index', true)).jobs[0].not_listed).toBe(words);
  const load = await runCommand({ warehouse, sandbox, clock }, (session) =>
    backfill.run(session, [pathOf('index')], {}),
  );
  expect(load).toMatchObject({ code: 1, output: expect.stringContaining(words) });
  expect(load.output).toMatch(/gmsi lookups$/m);
});
