import { arch, platform, release } from 'node:os';
import { type OpenWarehouse, type Session, today } from '../../compose.ts';
import { version } from '../../package.ts';
import { readAllJobs } from '../../plan/list-jobs.ts';
import { count, facts, minute, table } from '../../terminal/table.ts';
import { failuresOf, loadsOfJobs } from '../../warehouse/questions/status.ts';
import { describeFindings, type Finding } from './doctor-report.ts';

/** How many loads and failures a report of a bug has. */
const most = 5;

/**
 * Returns what a bug report needs: versions, the names of the settings, the job files, the findings, the last loads and
 * failures. It has no key and no password; hosts and the names of jobs are in it.
 */
export async function bugReport(
  session: Session,
  warehouse: OpenWarehouse | undefined,
  findings: readonly Finding[],
): Promise<string> {
  const { jobs, broken } = await readAllJobs(process.cwd(), today(session));
  const feeds = [...new Set(jobs.map(({ feed }) => feed))].join(', ');
  const about = facts([
    ['gmsi', version],
    ['Node.js', `${process.version} on ${platform()} ${release()} ${arch()}`],
    ['settings', session.config.given.join(', ') || 'none'],
    ['jobs', `${count(jobs.length, 'valid file')}${feeds && ` (${feeds})`}, ${broken.length} broken`],
  ]);
  return [
    about,
    describeFindings(findings).trimEnd(),
    ...(warehouse ? await ofWarehouse(warehouse) : []),
  ].join('\n\n');
}

async function ofWarehouse({ db }: OpenWarehouse): Promise<string[]> {
  try {
    const loads = (await loadsOfJobs(db, undefined, most)).map((load) => [
      ...[String(load.load_id), load.command, load.job, minute(load.started_at), load.outcome],
      ...[load.requests, load.records, load.error],
    ]);
    const failures = (await failuresOf(db, undefined, most)).map((one) => [
      ...[String(one.window_id), one.feed, one.first_day, one.last_day, one.state, one.last_error],
    ]);
    const ofLoads = table(
      ['load', 'command', 'job', 'began (UTC)', 'outcome', 'requests', 'records', 'error'],
      loads,
    );
    return [ofLoads, table(['window', 'feed', 'from', 'to', 'state', 'why'], failures)].filter(Boolean);
  } catch (error) {
    // Such as a schema that is not there yet; the findings say so, too.
    return [`The last loads cannot be read: ${(error as Error).message}`];
  }
}
