import type { FieldChange } from '../warehouse/questions/runs.ts';

/** How many changes a message names. */
const named = 3;

/** Describes which fields have appeared or vanished; the first few by name. */
export function describeFieldChanges(changes: readonly FieldChange[]): string {
  const listed = changes.slice(0, named).map(({ feed, field, change }) => `${field} of ${feed} is ${change}`);
  return listed.join(', ') + (changes.length > named ? ` and ${changes.length - named} more` : '');
}

export const adviceOnFields =
  'Ask the vendor what changed. The values of new fields are in extra; "fields" in a job file reads one into a column.';
