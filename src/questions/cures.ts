import type { CauseCode } from '../errors.ts';

const again = (job: string) => `gmsi backfill ${job}`;

/** An edit of the job file, after which the next load tries the windows again. */
const edited = (edit: string) => (job: string) => `${edit} in the job file, then gmsi backfill ${job}`;

const cures: Readonly<Record<CauseCode, (job: string) => string>> = {
  temporary: again,
  cursor: again,
  unexpected: (job) => again(job),
  withdrawn: (job) => `gmsi backfill ${job} --accept-retractions`,
  refused: (job) => `gmsi backfill ${job} --retry-refused`,
  'too old': () => 'set history_limit in the job file, then gmsi repair --windows',
  rejected: edited('name the fields or raise service.max_rejected_percent'),
  'new fields': edited('set unknown_fields: keep'),
  'other days': (job) => `gmsi doctor --probe --job ${job}, then gmsi backfill ${job}`,
  'too large': edited('set a smaller service.page_size'),
};

/** Returns true if windows that failed so may be loaded by the next load, without a person. */
export function isTemporary(cause: CauseCode | null): boolean {
  return cures[cause ?? 'temporary'] === again;
}

/**
 * Says what a person does so that windows are loaded that were not; test/commands/cures.test.ts tries it.
 * @param cause of the windows; `null` if they were never tried
 * @param job as it is typed
 */
export function cureOf(cause: CauseCode | null, job: string): string {
  return cures[cause ?? 'temporary'](job);
}
