import { createHash } from 'node:crypto';
import { constants, createReadStream, type Stats } from 'node:fs';
import { lstat, readdir, realpath, stat } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type Entry, openPromise, type ZipFile } from 'yauzl';
import { ConfigError, GmsiError, systemReason } from '../errors.ts';
import type { ServedBy } from '../warehouse/tables/origin.ts';

interface Place {
  readonly line?: number | undefined;
  readonly record?: number;
}

/** A file cannot be read any further. Earlier records are loaded, and the import continues with the other files. */
export class FileRefused extends GmsiError {
  override readonly kind = 'skippable';
  /** The line that could not be read, counted from 1. */
  readonly line: number | undefined;

  /** @param record for a table instead of a line: the number of the record, counted from 1 */
  constructor(message: string, { line, record, cause }: Place & { readonly cause?: unknown } = {}) {
    super(record === undefined ? message : `record ${record}: ${message}`, { cause });
    this.line = line;
  }
}

/** `line 17: is not JSON` */
export function describeRefusal({ line, message }: FileRefused): string {
  return line === undefined ? message : `line ${line}: ${message}`;
}

export type FileFormat = 'csv' | 'ndjson' | 'parquet';

/** A file of records: on the disk, or in a ZIP file. */
export interface DataFile {
  /** Its path as the user gave it; in a ZIP file, the path of the ZIP file and its own. */
  readonly name: string;
  /** The names of its folders, its ZIP file and itself, outermost first. They are data; never write to them as a path. */
  readonly parts: readonly string[];
  readonly format: FileFormat;
  readonly isGzipped: boolean;
  /** How many bytes `open` returns. */
  readonly bytes: number;
  readonly madeAt: Date;
  /** Its ZIP file, if it is in one. */
  readonly archive: Archive | undefined;
  /** Its path on the disk, if it is not in a ZIP file. */
  readonly path: string | undefined;
  /** Identifies its content; reads a file on the disk once. */
  content(stop: AbortSignal): Promise<string>;
  /** Opens its bytes, already extracted if it is in a ZIP file. */
  open(): Promise<Readable>;
  /** CRC-32 of these bytes, if known. */
  readonly crc32: number | undefined;
}

export interface Archive {
  readonly path: string;
  readonly name: string;
  /** The name without its UUID, which is the same for all versions of an archive. Empty if there is no UUID. */
  readonly subject: string;
  /** When its newest file was made. */
  readonly madeAt: Date;
  readonly servedBy: ServedBy;
}

/** Where files go that are found. */
interface Found {
  readonly files: DataFile[];
  /** Files that contain no records, judging by their names, such as a README. */
  readonly ignored: string[];
  /** Called for a file or folder that may contain records, judging by its name, but cannot be read. */
  readonly refuse: (name: string, error: FileRefused) => void;
}

/**
 * Finds the files of records in files, folders and ZIP files, each once. Ignores names that begin with a dot or an
 * underscore, as other tools for data in folders do. Follows no link, except in the middle of a path that the user names.
 * @throws ConfigError if a path does not exist or is not a file of records
 */
export async function findFiles(
  paths: readonly string[],
  onRefused: Found['refuse'],
  stop: AbortSignal,
): Promise<Omit<Found, 'refuse'>> {
  const found: Found = { files: [], ignored: [], refuse: onRefused };
  const seen = new Set<string>();

  const refuse = (path: string, why: string, cause?: unknown) =>
    onRefused(path, new FileRefused(why, { cause }));

  async function list(folder: string): Promise<void> {
    for (const name of (await readdir(folder)).sort()) if (isShown(name)) await look(join(folder, name));
  }

  async function look(path: string): Promise<void> {
    stop.throwIfAborted();
    try {
      const is = await stat(path);
      if (!is.isDirectory() && !isData(basename(path))) found.ignored.push(path);
      // It could lead in a circle, or to any file that this user may read, whose lines would be stored as rejected records. A
      // link that a user names may come from a pattern like *.csv, so it is not followed either.
      else if ((await lstat(path)).isSymbolicLink())
        refuse(path, `is a link: name ${await realpath(path)} itself`);
      else if (is.isDirectory()) await list(path);
      else await take(path, is);
    } catch (cause) {
      if (stop.aborted) throw cause;
      refuse(path, `cannot be read: ${systemReason(cause)}`, cause);
    }
  }

  async function take(path: string, is: Stats): Promise<void> {
    if (seen.has(resolve(path))) return;
    seen.add(resolve(path));
    const format = formatOf(path);
    const isZip = /\.zip$/i.test(path);
    // Opening a named pipe would block.
    if (!is.isFile()) refuse(path, 'is not a regular file');
    else if (format) found.files.push(onDisk(path, format, is));
    else if (!isZip) refuse(path, notRead);
    else
      await findInArchive(path, is, found).catch((cause) =>
        refuse(path, `is not a readable ZIP file: ${systemReason(cause)}`, cause),
      );
  }

  for (const path of paths) {
    const is = await stat(path).catch((cause) => {
      throw new ConfigError(`${path} cannot be read: ${systemReason(cause)}.`, {
        cause,
        hint: 'Name existing files, folders or ZIP files.',
      });
    });
    if (!is.isDirectory() && !formatOf(path) && !/\.zip$/i.test(path))
      throw new ConfigError(`${path} is not a file of records.`, {
        hint: 'File names must end with .csv, .ndjson or .jsonl (each also with .gz), .parquet or .zip.',
      });
    await look(path);
  }
  return found;
}

const notRead = 'has an unsupported format: unpack, convert or remove it';

const partsOf = (path: string) => path.split(/[\\/]/);

function isShown(name: string): boolean {
  return !/^[._]/.test(name);
}

/** Returns true for the extensions of data files and archives, supported or not. */
function isData(name: string): boolean {
  return /\.(csv|tsv|jsonl?|ndjson|parquet|parq|pq|avro|orc|arrow|feather|xlsx?|zip|gz|zst|bz2|xz|lz4|7z|rar|tar|tgz)(?![a-z0-9])/i.test(
    name,
  );
}

function formatOf(name: string): Pick<DataFile, 'format' | 'isGzipped'> | undefined {
  const [, ending, gz] =
    /\.(csv|ndjson|jsonl|parquet)(\.gz)?$/i.exec(name)?.map((it) => it?.toLowerCase()) ?? [];
  if (ending === undefined || (ending === 'parquet' && gz)) return undefined;
  return { format: ending === 'jsonl' ? 'ndjson' : (ending as FileFormat), isGzipped: gz !== undefined };
}

function onDisk(
  path: string,
  format: Pick<DataFile, 'format' | 'isGzipped'>,
  { size, mtime }: Stats,
): DataFile {
  return {
    ...format,
    name: path,
    parts: partsOf(path),
    path,
    bytes: size,
    madeAt: mtime,
    archive: undefined,
    crc32: undefined,
    open: async () => createReadStream(path),
    content: (stop) => digestOf(path, stop),
  };
}

async function digestOf(path: string, signal: AbortSignal): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path, { highWaterMark: 1024 * 1024 }), hash, { signal });
  return `sha256:${hash.digest('hex')}`;
}

const uuid = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/gi;

async function findInArchive(path: string, { mtime }: Stats, found: Found): Promise<void> {
  const { entries, comment } = await readArchive(path);
  // Entries for folders end with a slash.
  const shown = entries.filter(
    ({ fileName }) => !fileName.endsWith('/') && fileName.split('/').every(isShown),
  );
  const name = basename(path);
  const subject = name.replace(uuid, '');
  // A ZIP entry without a date says 1980.
  const madeAt = (entry: Entry) => {
    const at = entry.getLastModDate();
    return at.getFullYear() > 1980 ? at : mtime;
  };
  const archive: Archive = {
    path,
    name,
    subject: subject === name ? '' : subject,
    madeAt: new Date(shown.reduce((newest, entry) => Math.max(newest, madeAt(entry).getTime()), 0)),
    servedBy: comment.startsWith('gmsi-sandbox') ? 'sandbox' : 'service',
  };
  for (const entry of shown) {
    const { fileName, crc32, uncompressedSize } = entry;
    const format = formatOf(fileName);
    const about = { name: `${path}/${fileName}`, parts: [...partsOf(path), ...fileName.split('/')] };
    const refuse = (why: string) => found.refuse(about.name, new FileRefused(why));
    if (!isData(basename(fileName))) found.ignored.push(about.name);
    else if (isLink(entry)) refuse('is a link');
    else if (!format) refuse(notRead);
    else if (entry.isEncrypted()) refuse('is encrypted: unpack the ZIP file and import its files');
    else
      found.files.push({
        ...format,
        ...about,
        path: undefined,
        bytes: uncompressedSize,
        madeAt: madeAt(entry),
        archive,
        crc32,
        open: () => openEntry(path, entry),
        content: async () => `${fileName} ${uncompressedSize} ${crc32.toString(16).padStart(8, '0')}`,
      });
  }
}

/**
 * Returns true for a link, whose content is only the path that it leads to. The upper half of the attributes is the mode of
 * Unix.
 */
function isLink({ externalFileAttributes }: Entry): boolean {
  return ((externalFileAttributes >>> 16) & constants.S_IFMT) === constants.S_IFLNK;
}

/** Reads the directory of a ZIP or ZIP64 file. @throws an error that says what is wrong with it */
async function readArchive(path: string): Promise<{ entries: Entry[]; comment: string }> {
  const zip = await openZip(path);
  try {
    const entries: Entry[] = [];
    for await (const entry of zip.eachEntry()) entries.push(entry);
    return { entries, comment: zip.comment };
  } finally {
    zip.close();
  }
}

/**
 * Opens the unpacked bytes of a file in a ZIP file. Opens the ZIP file each time, so that thousands do not stay open. The
 * stream fails if it has more or fewer bytes than the directory says.
 */
async function openEntry(path: string, entry: Entry): Promise<Readable> {
  const zip = await openZip(path);
  try {
    return await zip.openReadStreamPromise(entry);
  } finally {
    // yauzl closes the file once the stream has ended.
    zip.close();
  }
}

/** Opens a ZIP file. yauzl refuses the whole archive if a name contains `..` or is an absolute path. */
async function openZip(path: string): Promise<ZipFile> {
  const zip = await openPromise(path, { autoClose: false });
  // An error while closing would end the process if nobody listened.
  return zip.on('error', () => {});
}
