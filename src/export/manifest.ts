import { z } from 'zod';
import { ConfigError } from '../errors.ts';
import { parseJson } from '../service/json.ts';

/** The underscore makes pandas, pyarrow and Spark ignore the file. */
export const manifestName = '_manifest.json';

/** Matches the paths of an export's files; no other file is ever replaced or removed. */
export const filePath = /^month=(\d{4,}-\d{2})\/part-\d+\.(parquet|csv)$/;

const number = z.number().nonnegative();
const text = z.string();

const file = { rows: number, bytes: number, sha256: text };

const manifest = z.object({
  gmsi: text,
  table: text,
  format: z.enum(['parquet', 'csv']),
  /** False while files are replaced one by one, in a storage that cannot replace all of them at once. */
  complete: z.boolean(),
  /** When the table was read; `as_of` is the requested past moment. */
  exported_at: z.iso.datetime(),
  as_of: text.nullable(),
  /** Whether the files have all versions of each row. */
  versions: z.boolean(),
  /** `exported_at` of the export that this one continued. */
  continues: z.iso.datetime().nullable(),
  /** Set if the export began with only the months that had changed since then. */
  changed_since: text.nullable(),
  /** The requested days (UTC); null means no bound. */
  from: text.nullable(),
  to: text.nullable(),
  /** The values that columns were limited to. */
  only: z.record(text, z.array(text)),
  rows: number,
  /** The column that is a folder. */
  partitioned_by: z.array(text),
  /** Columns of the files with DuckDB's types, and then the one that is a folder. */
  columns: z.record(text, text),
  /** The fingerprint is that of `MonthState`; empty if the files of the month are not known to be whole. */
  months: z.array(z.object({ month: text, rows: number, fingerprint: text })),
  files: z.array(z.object({ path: text.regex(filePath), ...file })),
  /**
   * Files that are not as in the export that this one continued, with what they were there; `before` is `null` for a new one.
   * Those that are missing in `files` were removed.
   */
  changed: z.array(z.object({ path: text, before: z.object(file).nullable() })),
});

/** Describes an export to its readers, and to the export that continues it. */
export type Manifest = Readonly<z.output<typeof manifest>>;

/** A file, by its path within the export. */
export type WrittenFile = Readonly<Manifest['files'][number]>;

/**
 * Reads the manifest of an export that will be continued. A month loses its fingerprint if one of its files differs from it.
 * @param bytes of each file that is there, by its path
 * @throws ConfigError if this version cannot continue it
 */
export function readManifest(
  json: string,
  place: string,
  bytes: ReadonlyMap<string, number | undefined>,
): Manifest {
  const { data } = manifest.safeParse(parseJson(json));
  if (!data)
    throw new ConfigError(`${place} contains an export that this version of gmsi cannot continue.`, {
      hint: 'Replace it once with --overwrite.',
    });
  const broken = new Set(
    data.files.filter((file) => bytes.get(file.path) !== file.bytes).map(({ path }) => monthOf(path)),
  );
  return withoutFingerprints(data, broken);
}

/** Returns a manifest in which some months are not known to be whole. */
export function withoutFingerprints(manifest: Manifest, months: ReadonlySet<string>): Manifest {
  const all = manifest.months.map((of) => (months.has(of.month) ? { ...of, fingerprint: '' } : of));
  return { ...manifest, months: all };
}

export function writeManifest(manifest: Manifest): string {
  return `${JSON.stringify(manifest, null, 2)}\n`;
}

/** Returns the month of a file. */
export function monthOf(path: string): string {
  return filePath.exec(path)![1]!;
}
