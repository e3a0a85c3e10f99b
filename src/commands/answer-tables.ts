import type { JobShown } from '../answer/answer.ts';
import type { Cause } from '../answer/causes.ts';
import { sayCure } from '../answer/cures.ts';
import { type Columns, minute, nextStep, number, sayingAsTyped, share, tableOf } from '../terminal/table.ts';

const styles = { good: 'green', working: 'green', behind: 'yellow', failing: 'red', stopped: 'red' } as const;

/** Lists jobs: how each stands and why, how far it is loaded, and when it runs next. */
export function describeJobs(jobs: readonly JobShown[]): string {
  const columns: Columns<JobShown> = {
    job: 'job',
    state: ({ state }) => ({ text: state, style: styles[state] }),
    why: 'why',
    feed: 'feed',
    from: 'from',
    to: 'to',
    'series complete': ({ series, complete }) =>
      series === null || complete === null ? '' : `${number(complete)} of ${number(series)}`,
    'days loaded': ({ covered, wanted, is_complete }) =>
      covered === null || wanted === null
        ? ''
        : { text: share(covered, wanted), style: is_complete ? 'green' : 'yellow' },
    'complete to': 'complete_to',
    'next run (UTC)': ({ next_command, next_run }) =>
      next_run === null ? '' : `${next_command} ${minute(next_run)}`,
  };
  return tableOf(jobs, columns, {
    least: ['feed', 'from', 'to', 'series complete', 'complete to', 'next run (UTC)'],
  });
}

/** Lists what is wrong: why, what cures it, and about how many requests that sends. */
export function describeCauses(causes: readonly Cause[]): string {
  const columns: Columns<Cause> = {
    job: 'job',
    what: ({ what, severity }) => ({ text: what, style: severity === 'failing' ? 'red' : 'yellow' }),
    why: 'why',
    about: 'about',
    'to do': ({ before, command }) => {
      if (command === null) return before ?? '';
      return sayingAsTyped(sayCure({ ...(before !== null && { before }), command }));
    },
    requests: ({ command, requests }) => (command === null ? '' : (requests ?? '?')),
  };
  return tableOf(causes, columns, { least: ['about'] });
}

/**
 * Suggests the first command that cures something, unless a person has to do something before it; without a cause, another.
 * @param suggest what is suggested in place of a command
 */
export function describeNext(
  causes: readonly Cause[],
  otherwise: string,
  suggest = (command: string) => command,
): string {
  const cured = causes.filter(({ command, severity }) => command !== null && severity !== 'note');
  const first = cured.find(({ code }) => code === 'series unknown') ?? cured[0];
  if (!first) return nextStep(otherwise);
  return first.before === null ? nextStep(suggest(first.command!.replace(/^gmsi /, ''))) : '';
}
