import { GmsiError } from '../errors.ts';

/** Counts of a window or a file: all records, those that could not be read, and those of days that were not requested. */
export interface ReadCounts {
  readonly records: number;
  readonly rejected: number;
  readonly outside?: number;
}

/** Fewer records than this never count as too many: one in forty says nothing about the others. */
const few = 6;

/** Returns true if so many of a window's or a file's records are wrong that its days must not count as covered. */
export function areTooMany(some: number, all: number, mostPercent: number): boolean {
  return some * 100 > all * mostPercent && (some >= few || some * 2 > all);
}

/**
 * Returns a message if too many records were not loaded for their days to count as covered: more than `mostPercent`, and more
 * than a few or half of them. Usually the service has renamed a field, changed the format of numbers, or takes no notice of the
 * days.
 */
export function tooManyRejected(
  { records, rejected, outside = 0 }: ReadCounts,
  mostPercent: number,
): string | undefined {
  if (!areTooMany(rejected + outside, records, mostPercent)) return undefined;
  const [some, all, others] = [rejected + outside, records, outside].map((count) =>
    count.toLocaleString('en-US'),
  );
  const why =
    outside === 0
      ? 'were rejected'
      : rejected === 0
        ? 'are of days that were not requested'
        : `were rejected or are of days that were not requested (${others})`;
  return `${some} of ${all} records ${why}, more than ${mostPercent}%`;
}

/** A window was read to its end, but too many of its records were not loaded. Its days are not covered. */
export class TooManyRejected extends GmsiError {
  override readonly kind = 'skippable';
  override readonly causeCode = 'rejected';

  constructor(what: string) {
    const hint =
      'gmsi.rejected_records has the reasons. If a field was renamed, set fields in the job file; if such ' +
      'records are normal, raise service.max_rejected_percent.';
    super(`${what}.`, { hint });
  }
}
