import { GmsiError } from '../errors.ts';

/** What was read of a window or a file: all records, and those among them that no row could be made of. */
export interface ReadCounts {
  readonly records: number;
  readonly rejected: number;
}

/** Fewer rejected records than these are few, whatever their share: one of forty says nothing about the others. */
const few = 6;

/**
 * Says that so many records were rejected that days cannot count as covered: more than `mostPercent`, and more than a handful
 * or half of them. Somebody has renamed a field, or writes numbers in another way.
 */
export function tooManyRejected({ records, rejected }: ReadCounts, mostPercent: number): string | undefined {
  const isTooMany = rejected * 100 > records * mostPercent && (rejected >= few || rejected * 2 > records);
  if (!isTooMany) return undefined;
  const [some, all] = [rejected, records].map((count) => count.toLocaleString('en-US'));
  return `${some} of ${all} records could not be read, more than ${mostPercent}%`;
}

/** A window was read to its end, but too few of its records became rows. Its days are not covered. */
export class TooManyRejected extends GmsiError {
  override readonly kind = 'skippable';

  constructor(what: string) {
    // In the message, too, because a window's last_error keeps only the message.
    const hint =
      'gmsi.rejected_records says why. If a field has another name, set fields in the job file; if such records are usual, raise service.max_rejected_percent.';
    super(`${what}. ${hint}`, { hint });
  }
}
