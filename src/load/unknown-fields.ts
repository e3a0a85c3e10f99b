import type { Job } from '../config/job.ts';
import { GmsiError } from '../errors.ts';
import type { RecordReader } from '../feeds/feed.ts';
import { storableText } from '../feeds/reading/storable-json.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import { storedFields } from '../warehouse/tables/learned.ts';

/** A page has a field that is not known, and the job says `unknown_fields: fail`. Nothing of the page is stored. */
export class UnknownFields extends GmsiError {
  override readonly kind = 'skippable';
  override readonly causeCode = 'new fields';

  constructor(names: readonly string[], all: number) {
    const hint =
      'Ask the vendor what they are. Then set unknown_fields: keep for one load, or read them into columns with fields.';
    const more = all > names.length ? ` and ${all - names.length} more` : '';
    super(`The records have fields that no load has stored yet: ${names.join(', ')}${more}.`, { hint });
  }
}

/**
 * Returns the fields that records may have under `unknown_fields: fail`: those that the feed or the job names, and those that
 * a load has stored. Returns `undefined` if they may have any: by default, and before the feed's first load has ended.
 */
export async function knownFields(
  warehouse: Warehouse,
  { feed, unknownFields }: Job,
  reader: RecordReader,
): Promise<ReadonlySet<string> | undefined> {
  if (unknownFields !== 'fail') return undefined;
  const stored = await storedFields(warehouse, feed);
  return stored.length === 0 ? undefined : new Set([...reader.knownFields, ...stored]);
}

/** How many names the message has, and how many characters of each. */
const shown = { names: 3, characters: 60 };

/** @throws UnknownFields if a record has a field that is not in `known` */
export function refuseUnknownFields(
  records: readonly unknown[],
  known: ReadonlySet<string> | undefined,
): void {
  if (!known) return;
  const unknown = new Set<string>();
  for (const record of records) {
    if (typeof record !== 'object' || record === null || Array.isArray(record)) continue;
    for (const name of Object.keys(record)) if (!known.has(name)) unknown.add(name);
  }
  if (unknown.size === 0) return;
  const names = [...unknown]
    .slice(0, shown.names)
    .map((name) => storableText(name.slice(0, shown.characters)));
  throw new UnknownFields(names, unknown.size);
}
