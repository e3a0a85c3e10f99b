import type { JobPart } from '../config/job.ts';
import { typedOptions } from '../config/typed.ts';
import type { CauseCode } from '../errors.ts';
import type { EmptiedDays } from '../questions/emptied.ts';

/** What a person does about something that is wrong. */
export interface Cure {
  /** What to do before the command, such as an edit of the job file. */
  readonly before?: string;
  readonly command: string;
  /** How many requests that may send. */
  readonly requestsBefore?: number;
  /** True if the command sends no request. */
  readonly isFree?: boolean;
}

const again = (job: string) => ({ command: `gmsi backfill ${job}` });

/** An edit of the job file, after which the next load tries the windows again. */
const edited = (edit: string) => (job: string) => ({
  before: `${edit} in the job file`,
  ...again(job),
});

const cures: Readonly<Record<CauseCode, (job: string) => Cure>> = {
  temporary: again,
  cursor: again,
  unexpected: again,
  withdrawn: (job) => ({ command: `gmsi backfill ${job} --accept-retractions` }),
  refused: (job) => ({ command: `gmsi backfill ${job} --retry-refused` }),
  'too old': edited('set history_limit'),
  rejected: edited('name the fields or raise service.max_rejected_percent'),
  'new fields': edited('set unknown_fields: keep'),
  'other days': (job) => ({
    before: `gmsi doctor --probe --job ${job}`,
    requestsBefore: 12,
    ...again(job),
  }),
  'too large': edited('set a smaller service.page_size'),
};

/**
 * Returns what a person does so that windows are loaded that were not; test/commands/cures.test.ts tries it.
 * @param cause of the windows; `null` if they were never tried
 * @param job as it is typed
 */
export function cureOf(cause: CauseCode | null, job: string): Cure {
  return cures[cause ?? 'temporary'](job);
}

/** Returns what a person does so that rows that are gone are loaded again. @param part of the job */
export function cureOfEmptied(range: EmptiedDays, job: string, part: JobPart = {}): Cure {
  return { command: `gmsi backfill ${job} --full-refresh${typedOptions({ ...part, ...range })}` };
}

/** Says it in one line. */
export function sayCure({ before, command }: Cure): string {
  return before === undefined ? command : `${before}, then ${command}`;
}
