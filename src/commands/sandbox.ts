import { once } from 'node:events';
import { relative } from 'node:path';
import { type SandboxOptions, settingsFrom, startSandbox, writeArchives } from '#sandbox';
import { keepThisProcess, openWarehouse, readJobs, type Session, today } from '../compose.ts';
import { typedJob } from '../config/find-job-file.ts';
import type { Job } from '../config/job.ts';
import { partOf } from '../config/part-of-job.ts';
import { typed } from '../config/typed.ts';
import { ConfigError, systemReason } from '../errors.ts';
import { exitCodeOfOutcome } from '../exit.ts';
import type { LoadContext } from '../load/load.ts';
import { inPackage } from '../package.ts';
import { type Sentiment, sentimentOverTime } from '../questions/sentiment.ts';
import { Secret } from '../secret.ts';
import { wholeNumber } from '../terminal/arguments.ts';
import { print, printJson, printResult } from '../terminal/print.ts';
import { showSteps } from '../terminal/progress.ts';
import { command } from '../terminal/style.ts';
import { asTyped, facts, nextStep, tableOf } from '../terminal/table.ts';
import { findRemains, removeRemains } from '../warehouse/embedded/remove.ts';
import { passesCheck } from './check.ts';
import { type Command, examples, gmsiCommand, type OptionsOf } from './command.ts';
import { backfillLoader, loadJob } from './load.ts';
import { describeSummary, type LoadSummary } from './load-summary.ts';
import { serveUntilStopped } from './serve.ts';

/** Describes every option of the sandbox. */
const documentation = inPackage('packages/sandbox/README.md');

const define = (sandbox: Command) =>
  sandbox
    .option('--host <address>', 'address to listen on; 0.0.0.0 admits other machines', '127.0.0.1')
    .option('--port <number>', 'port to listen on', wholeNumber({ to: 65_535 }), 8425)
    .option('--seed <text>', 'seed of the made-up data', 'gmsi')
    .option('--key <key...>', 'API keys to accept', ['sandbox-key'])
    .option('--unlimited', 'turn off the rate limit and the quota')
    .option('--options <json>', 'more options as JSON')
    .option('--archive <folder>', "write bulk archives like the vendor's, and exit")
    .addHelpText(
      'after',
      examples(
        'gmsi sandbox --port 0 --unlimited --seed mine',
        `gmsi sandbox --options '{"endDate":"ignored"}'`,
      ),
    )
    .addHelpText('after', `The options of --options: ${documentation}\n`);

const defineDemo = (demo: Command) =>
  demo
    .option(
      '--remove',
      'delete the embedded PostgreSQL and its data; without --yes, only list what would be deleted',
    )
    .option('--yes', 'with --remove: do it')
    .option('--serve', 'then show the data as a web page, as gmsi serve does')
    .addHelpText('after', examples('gmsi demo', 'gmsi demo --serve', 'gmsi demo --remove --yes'));

type SandboxFlags = OptionsOf<typeof define>;

/** `gmsi sandbox`: serves until it is stopped; with `--archive`, writes bulk archives instead. */
export const sandbox = gmsiCommand({ define, isReadable: true }, async (session, flags) => {
  if (flags.archive !== undefined) return archive(session, flags, flags.archive);
  await using sandbox = await emulated(() => startSandbox(optionsOf(flags)));
  if (session.json) {
    printJson({ url: sandbox.url, keys: flags.key, pid: process.pid }, 0);
  } else {
    const isSetUp = session.config.baseUrl === sandbox.url;
    const backfill = `GMSI_BASE_URL=${sandbox.url} GMSI_API_KEY=${typed(flags.key[0]!)} GMSI_HOME=.gmsi/sandbox npx gmsi backfill demo`;
    print(
      `${facts([
        ['serving', `${sandbox.url}/v1`],
        ['keys', flags.key.join(', ')],
        ['limits', flags.unlimited ? 'none' : '25 requests a second, bursts of 50, 250,000 a month'],
        ['counts', `${sandbox.url}/_sandbox/stats`],
      ])}\n\nIn another terminal:\n  ${command(isSetUp ? asTyped('status') : backfill)}\n\nCtrl-C ends it.\n`,
    );
  }
  if (!session.stop.aborted) await once(session.stop, 'abort');
});

async function archive(session: Session, flags: SandboxFlags, folder: string): Promise<undefined> {
  const { log, progress, stop } = session;
  using steps = showSteps(log, progress);
  steps.show(() => 'writing archives');
  const archives = await emulated(() =>
    writeArchives(folder, optionsOf(flags), {
      stop,
      onArchive: ({ path }) => steps.show(() => `wrote ${path}`),
    }),
  );
  steps[Symbol.dispose]();
  const columns = { archive: 'path', files: 'files', records: 'records' } as const;
  const text = () => `${tableOf(archives, columns)}\n${nextStep(`import ${typed(folder)}`)}`;
  printResult(session, { archives }, text);
}

function optionsOf(flags: SandboxFlags): SandboxOptions {
  const { host, port, seed, key: keys, unlimited } = flags;
  return { host, port, seed, keys, ...(unlimited && { limits: null }), ...parseOptions(flags.options) };
}

async function emulated<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    if (cause instanceof ConfigError || (cause as Error).name === 'AbortError') throw cause;
    throw new ConfigError(`The sandbox does not start: ${systemReason(cause)}`, {
      cause,
      hint: 'Check --host and --port (0 takes a free one).',
    });
  }
}

function parseOptions(text = '{}'): SandboxOptions {
  try {
    const options = JSON.parse(text);
    settingsFrom(options);
    return options;
  } catch (cause) {
    const reason = cause instanceof RangeError ? `: ${cause.message}` : ' is not JSON';
    throw new ConfigError(`--options${reason}.`, {
      cause,
      hint: `For instance --options '{"endDate":"ignored","historyLimitDays":365}'. All options: ${documentation}`,
    });
  }
}

/** From the working directory, so that in a checkout the printed commands say `demo`. */
const pathOfDemo = () => relative(process.cwd(), inPackage('jobs/demo.yaml'));
const key = 'demo-key';
const world = { keys: [key], seed: 'demo', volume: 0.6 };
/** The service revises and withdraws a few headlines of these days after the first load, so that people see what gmsi keeps. */
const revised = { from: '2025-10-04', changes: { revised: 0.01, withdrawn: 0.003 } };
/** What is asked, and loaded first, so that there is an answer while the rest is loading. */
const first = { country: ['US'], topic: ['Inflation-Food'], from: '2025-01-01', to: '2025-12-31' };
const question = sentimentOverTime({ ...first, match_type: ['COMBINED'], by: 'month' });

/**
 * `gmsi demo`, and `npm start` in a checkout: loads from the sandbox into the embedded warehouse, over HTTP. Ignores the
 * environment's database and key, so that it cannot change real data or spend real requests.
 */
export const demo = gmsiCommand(
  { define: defineDemo, schemaUse: 'upgrades', isReadable: true },
  async (session, options) => {
    if (options.remove) return removeDemo(session, options.yes ?? false);
    if (options.yes) throw new ConfigError('--yes needs --remove.', { hint: 'Add --remove, or drop --yes.' });
    await using sandbox = await startSandbox(world);
    const config = {
      ...session.config,
      apiKey: new Secret(key),
      baseUrl: sandbox.url,
      proxyFor: undefined,
      warehouse: { kind: 'embedded' as const },
    };
    const demo = { ...session, config };
    const say = (text: string) => {
      if (!session.json) print(text);
    };
    const path = pathOfDemo();
    const [demoJob] = await readJobs(demo, [path]);
    await using warehouse = await openWarehouse(demo);
    await using process = await keepThisProcess(demo, warehouse.patient, 'demo');
    const by = { warehouse: warehouse.patient, process };
    say(
      `Loading the job demo from a sandbox of the service on ${sandbox.url}\ninto ${warehouse.description}\n\n`,
    );

    const answered = async () => (await question.query.execute(warehouse.db)).rows;
    if (!session.json) {
      const part = await loadJob(demo, by, partOf(demoJob!, first, today(demo)), backfillLoader({}));
      if (part.outcome === 'done') say(`${answer(await answered())}\nThe other series and years:\n\n`);
    }
    const summary = await loadJob(demo, by, demoJob!, backfillLoader({}));
    say(`${describeSummary(summary)}\n`);
    if (summary.outcome === 'done' && summary.totals.rows_inserted > 0) {
      const again = await loadRevised(demo, by, demoJob!);
      say(
        `Since then, the sandbox changed a few headlines. Its days from ${revised.from}, loaded again:\n\n${describeSummary(again)}\n`,
      );
      if (again.outcome !== 'done') return exitCodeOfOutcome(again.outcome);
      // One that warns of a burst of news. All of them would take as long as the load.
      if (!(await passesCheck(demo, warehouse.patient, demoJob!, 'volume')))
        say(`A check noticed days with unusually many headlines: npx gmsi check ${typedJob(path)}\n\n`);
    }
    if (session.json) {
      const { totals, windows, outcome, seconds, budget } = summary;
      printJson({ outcome, totals: { ...totals }, windows, seconds, budget, months: await answered() });
    } else if (summary.outcome === 'done') {
      if (!options.serve) say(`${nextAfterDemo(path)}\n`);
      if (options.serve) return await serveUntilStopped(demo, warehouse, { host: '127.0.0.1', port: 0 });
    }
    return exitCodeOfOutcome(summary.outcome);
  },
);

/** Loads the last days of the demo again from a sandbox that has since revised and withdrawn some of their headlines. */
async function loadRevised(
  demo: Session,
  by: Pick<LoadContext, 'warehouse' | 'process'>,
  job: Job,
): Promise<LoadSummary> {
  await using sandbox = await startSandbox({ ...world, changes: revised.changes });
  const session = { ...demo, config: { ...demo.config, baseUrl: sandbox.url } };
  const part = partOf(job, { from: revised.from }, today(demo));
  return await loadJob(session, by, part, backfillLoader({ fullRefresh: true }));
}

/** Removes only the embedded server; the database in DATABASE_URL belongs to the user. */
async function removeDemo(session: Session, isAgreed: boolean): Promise<undefined> {
  const { home } = session.config;
  const remains = findRemains(home);
  const { paths } = remains;
  if (isAgreed) await removeRemains(home, remains);
  const document = { [isAgreed ? 'removed' : 'to_remove']: paths };
  printResult(session, document, () => describeRemoval(home, paths, isAgreed));
}

function describeRemoval(home: string, paths: readonly string[], isAgreed: boolean): string {
  if (paths.length === 0) return `Nothing to remove: there is no embedded server of ${home}.\n`;
  const list = paths.map((path) => `  ${path}\n`).join('');
  return isAgreed
    ? `Removed:\n${list}`
    : `This deletes all data in the embedded server, including data loaded with a real key:\n${list}Nothing is removed yet. Run ${asTyped('demo --remove --yes')}.\n`;
}

function answer(months: readonly Sentiment[]): string {
  const shown = tableOf(months, {
    month: ({ at }) => at.slice(0, 7),
    headlines: 'all_count',
    directional: ({ directional }) => signed(directional),
    semantic: ({ semantic }) => signed(semantic),
  });
  return `How did food inflation news in the US read, month by month? (made-up data)\n\n${shown}\n`;
}

const nextAfterDemo = (path: string) => `Look at it:       npx gmsi serve
Look further:     npx gmsi psql -c "select topic, count(*), avg(semantic_score)
                    from gmsi.headlines where match_type = 'COMBINED'
                    and retracted_at is null group by 1 order by 1"
What is loaded:   npx gmsi status ${typedJob(path)}
With a real key:  npx gmsi init
Remove it all:    npx gmsi demo --remove
`;

function signed(score: number | null): string {
  return score === null ? '' : `${score >= 0 ? '+' : ''}${score.toFixed(3)}`;
}
