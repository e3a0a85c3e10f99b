import { type Session, today } from '../compose.ts';
import { aboutExamples } from '../config/find-job-file.ts';
import { ConfigError } from '../errors.ts';
import { exitCodes } from '../exit.ts';
import { feedNamed } from '../feeds/catalog.ts';
import { describeFeed } from '../feeds/feed.ts';
import { readAllJobs, readJobsApart } from '../plan/list-jobs.ts';
import { printResult } from '../terminal/print.ts';
import { count, sayingAsTyped, tableOf } from '../terminal/table.ts';

const notChecked =
  'Not checked: whether the service lists these countries, topics and tickers. gmsi plan without --offline checks that.\n';

/**
 * `gmsi plan --offline [<job>…]`: checks job files without a warehouse, a key or a request. Whether the service lists their
 * countries and topics is checked by `gmsi plan` without it.
 * @returns the exit code
 */
export async function planOffline(session: Session, names: readonly string[]): Promise<number> {
  const { jobs, broken } = await (names.length === 0
    ? readAllJobs(process.cwd(), today(session))
    : readJobsApart(names, process.cwd(), today(session)));
  // A folder without job files is probably not the one that was meant.
  if (jobs.length + broken.length === 0)
    throw new ConfigError('There is no job file in the folder jobs.', {
      hint: `gmsi init makes a first one. ${aboutExamples(process.cwd())}`,
    });
  const document = {
    valid: jobs.map(({ path }) => path),
    broken: broken.map(({ path, error }) => ({ path, message: error.message })),
  };
  printResult(session, document, () => {
    const about = ({ feed }: (typeof jobs)[number]) => describeFeed(feedNamed(feed));
    const overview = tableOf(jobs, { 'job file': 'path', feed: 'feed', '': about }, { least: ['feed'] });
    const valid = overview && `${overview}\n\n`;
    const problems = broken.map(({ error }) => `${error.message}\n\n`).join('');
    const counts = `${count(jobs.length, 'job file')} valid, ${broken.length} broken\n`;
    return `${valid}${problems}${counts}${jobs.length > 0 ? sayingAsTyped(notChecked) : ''}`;
  });
  return broken.length > 0 ? exitCodes.doNotRetry : exitCodes.done;
}
