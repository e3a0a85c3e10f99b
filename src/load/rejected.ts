import { GmsiError } from '../errors.ts';

/** Counts of a window or a file: all records, those that could not be read, and those of days that were not requested. */
export interface ReadCounts {
  readonly records: number;
  readonly rejected: number;
  readonly outside?: number;
}

/** Fewer rejected records than this never count as too many: one in forty says nothing about the others. */
const few = 6;

/**
 * Returns a message if too many records were not loaded for their days to count as covered: more than `mostPercent`, and more
 * than a few or half of them. Usually the service has renamed a field, changed the format of numbers, or takes no notice of the
 * days.
 */
export function tooManyRejected(
  { records, rejected, outside = 0 }: ReadCounts,
  mostPercent: number,
): string | undefined {
  const lost = rejected + outside;
  const isTooMany = lost * 100 > records * mostPercent && (lost >= few || lost * 2 > records);
  if (!isTooMany) return undefined;
  const [some, all, others] = [lost, records, outside].map((count) => count.toLocaleString('en-US'));
  const why =
    outside === 0
      ? 'could not be read'
      : rejected === 0
        ? 'are of days that were not requested'
        : `could not be read or are of days that were not requested (${others})`;
  return `${some} of ${all} records ${why}, more than ${mostPercent}%`;
}

/** A window was read to its end, but too many of its records were not loaded. Its days are not covered. */
export class TooManyRejected extends GmsiError {
  override readonly kind = 'skippable';

  constructor(what: string) {
    // The message repeats the hint, because a window's last_error has only the message.
    const hint =
      'gmsi.rejected_records has the reasons. If a field was renamed, set fields in the job file; if such records are normal, raise service.max_rejected_percent.';
    super(`${what}. ${hint}`, { hint });
  }
}
