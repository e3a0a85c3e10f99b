import { expect, it } from 'vitest';
import { type SandboxOptions, startSandbox } from '#sandbox';
import type { CauseCode } from '../../src/errors.ts';
import { gmsiHere } from '../cli/in-process.ts';
import { aPlace } from '../cli/place.ts';

type Place = Awaited<ReturnType<typeof aPlace>>;

const ago = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString().slice(0, 10);

const service = { max_attempts: 1, page_size: 40, end_date: 'inclusive' };
/** Two windows. */
const desk = {
  countries: ['US'],
  topics: ['Inflation-Food'],
  start_date: ago(89),
  end_date: ago(60),
  step: 'P15D',
  service,
};

const always = { times: 1e6 };

interface State {
  readonly sandbox?: SandboxOptions;
  /** Beyond those of the desk. */
  readonly settings?: object;
  /** Lets windows fail. */
  readonly fail?: (place: Place, run: Run) => unknown;
  /** The settings of the job file that is edited, if it is. */
  readonly edited?: object;
  /** True if what let windows fail stays. */
  readonly lasts?: boolean;
}

/** How windows come to fail for each cause that is told from the others by the error alone. */
const states: Readonly<Record<Exclude<CauseCode, 'withdrawn' | 'unexpected'>, State>> = {
  temporary: {
    fail: ({ sandbox }) =>
      sandbox.script([{ kind: 'malformed', ...always, match: ({ query }) => query.start_date === ago(89) }]),
  },
  cursor: { fail: ({ sandbox }) => sandbox.script([{ kind: 'repeat-token' }]) },
  refused: {
    fail: ({ sandbox }) =>
      sandbox.script([{ kind: 'refuse', status: 422, ...always, match: ({ path }) => path.endsWith('/US') }]),
  },
  'too old': { sandbox: { historyLimitDays: 80 }, edited: { history_limit: ago(80) }, lasts: true },
  rejected: {
    fail: ({ sandbox }) =>
      sandbox.script([
        { kind: 'drift', drifts: Array.from({ length: 40 }, () => 'no-time' as const), ...always },
      ]),
    edited: { service: { ...service, max_rejected_percent: 100 } },
    lasts: true,
  },
  'new fields': {
    settings: { unknown_fields: 'fail' },
    fail: async ({ sandbox }, run) => {
      await run('backfill', 'desk', '--from', ago(74));
      sandbox.script([{ kind: 'drift', drifts: ['new-field'], ...always }]);
    },
    edited: { unknown_fields: 'keep' },
    lasts: true,
  },
  'other days': {
    sandbox: { endDate: 'ignored' },
    settings: { service: { ...service, end_date: 'unknown' } },
    lasts: true,
  },
  'too large': {
    settings: { service: { ...service, max_body_bytes: 30_000, page_size: 1000 } },
    edited: { service: { ...service, max_body_bytes: 30_000 } },
    lasts: true,
  },
};

type Run = (...args: string[]) => ReturnType<typeof gmsiHere>;

/** The causes of windows that are not loaded. */
async function causesIn(run: Run): Promise<string[]> {
  const { causes } = JSON.parse((await run('status', '--json')).stdout);
  return causes.flatMap(({ code, windows }: { code: string; windows: number | null }) =>
    windows === null ? [] : code,
  );
}

it.each(Object.entries(states))(
  'what is said to cure a window that failed as %s cures it',
  async (cause, of) => {
    await using place = await aPlace({ volume: 0.3, ...of.sandbox });
    const run: Run = (...args) => gmsiHere(args, place.setting);
    const job = { ...desk, ...of.settings };
    await place.folder.write('jobs/desk.yaml', job);
    await of.fail?.(place, run);
    expect((await run('backfill', 'desk')).code).toBe(1);
    expect(await causesIn(run)).toEqual([cause]);
    const cure = await saidToCure(run);

    if (!of.lasts) place.sandbox.script([]);
    expect(cure.includes('in the job file')).toBe(of.edited !== undefined);
    if (of.edited) await place.folder.write('jobs/desk.yaml', { ...job, ...of.edited });
    const commands = commandsIn(cure);
    for (const command of commands.slice(0, -1)) await run(...command);
    expect((await run(...commands.at(-1)!)).code).toBe(0);
    // The windows before a history limit are left over; what deletes them is said as well.
    expect(await causesIn(run)).toEqual(cause === 'too old' ? ['not wanted'] : []);
    if (cause === 'too old') await run(...commandsIn(await saidToCure(run))[0]!);
    expect(await causesIn(run)).toEqual([]);
  },
);

it('what is said to cure a window of which too much is withdrawn cures it, and nothing less does', async () => {
  await using place = await aPlace({ volume: 1 });
  await using other = await startSandbox({ limits: null, volume: 0.05 });
  const run: Run = (...args) => gmsiHere(args, place.setting);
  await place.folder.write('jobs/desk.yaml', desk);
  expect((await run('backfill', 'desk')).code).toBe(0);
  place.setting.env = { ...place.setting.env, GMSI_BASE_URL: other.url };
  expect((await run('backfill', 'desk', '--full-refresh')).code).toBe(1);
  for (let tries = 0; tries < 3; tries++) expect((await run('backfill', 'desk')).code).toBe(1);
  expect(await causesIn(run)).toEqual(['withdrawn']);
  const cure = await saidToCure(run);
  expect(cure).toMatch(/gmsi backfill desk --accept-retractions$/);
  expect((await run(...commandsIn(cure)[0]!)).code).toBe(0);
  expect(await causesIn(run)).toEqual([]);
});

/** What `gmsi status` says is to do first. */
async function saidToCure(run: Run): Promise<string> {
  const lines = (await run('status')).stdout.split('\n');
  const [head = '', row = ''] = lines.slice(lines.indexOf('To do') + 1);
  const begin = head.indexOf('to do');
  expect(begin).toBeGreaterThan(0);
  return row.slice(begin, head.indexOf('requests')).trim();
}

function commandsIn(cure: string): string[][] {
  return [...cure.matchAll(/gmsi ([^,]*)/g)].map(([, words = '']) => words.split(' '));
}
