import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { ConfigError, GmsiError } from '../../errors.ts';
import type { ServedBy } from '../../warehouse/tables/learned.ts';
import { openEntry, readArchive } from './zip.ts';

/** A file cannot be read any further. What was read before is loaded, and the other files go on. */
export class FileRefused extends GmsiError {
  override readonly kind = 'skippable';
  /** The line, or of a Parquet file the row, that could not be read, counted from 1. */
  readonly line: number | undefined;

  constructor(message: string, { line, cause }: { line?: number | undefined; cause?: unknown } = {}) {
    super(message, { cause });
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
  /** Its path as the user gave it; in a ZIP file, that one's path and its own. */
  readonly name: string;
  /** The names of its folders, of its ZIP file and its own, outermost first. They are data, and no path to write to. */
  readonly parts: readonly string[];
  readonly format: FileFormat;
  readonly isGzipped: boolean;
  /** How many bytes `open` gives. */
  readonly bytes: number;
  readonly madeAt: Date;
  /** Its ZIP file, if it is in one. */
  readonly archive: Archive | undefined;
  /** Its path on the disk, if it is not in a ZIP file. */
  readonly path: string | undefined;
  /** What identifies its content; reads a file on the disk once. */
  content(): Promise<string>;
  /** Its bytes, of which a file in a ZIP file is already unpacked once. */
  open(): Promise<Readable>;
  /** CRC-32 of these bytes, if it is known. */
  readonly crc32: number | undefined;
}

export interface Archive {
  readonly path: string;
  readonly name: string;
  /** The name without its UUID: the same for all versions of an archive. Empty if it has no UUID. */
  readonly subject: string;
  /** When its newest file was made. */
  readonly madeAt: Date;
  readonly servedBy: ServedBy;
}

export interface FoundFiles {
  readonly files: readonly DataFile[];
  /** ZIP files that cannot be read. */
  readonly refused: readonly { readonly name: string; readonly error: FileRefused }[];
  /** Names of files that are not records, such as a README. */
  readonly ignored: readonly string[];
}

/**
 * Finds the files of records in what the user names: files, folders and ZIP files, each once. Names that begin with a dot or
 * an underscore do not count, as everywhere where data lie in folders.
 * @throws ConfigError naming a path that is not there, or no file of records
 */
export async function findFiles(paths: readonly string[]): Promise<FoundFiles> {
  const found = { files: [] as DataFile[], refused: [] as { name: string; error: FileRefused }[] };
  const ignored: string[] = [];
  for (const path of new Set((await Promise.all(paths.map(pathsIn))).flat())) {
    if (/\.zip$/i.test(path)) {
      try {
        const { files, others } = await filesInArchive(path);
        found.files.push(...files);
        ignored.push(...others);
      } catch (cause) {
        const error = new FileRefused(`is not a readable ZIP file: ${(cause as Error).message}`, { cause });
        found.refused.push({ name: path, error });
      }
    } else {
      const file = await fileOnDisk(path);
      if (file) found.files.push(file);
      else if (paths.includes(path)) throw notRecords(path);
      else ignored.push(path);
    }
  }
  return { ...found, ignored };
}

function notRecords(path: string): ConfigError {
  return new ConfigError(`${path} is not a file of records by its name.`, {
    hint: 'Names end with .csv, .ndjson or .jsonl (each also with .gz), .parquet or .zip.',
  });
}

/** A file itself, or all files of a folder in the order of their names. */
async function pathsIn(path: string): Promise<string[]> {
  const found = await stat(path).catch((cause) => {
    throw new ConfigError(`${path} cannot be read: ${(cause as Error).message}`, {
      cause,
      hint: 'Name files, folders or ZIP files that are there.',
    });
  });
  if (!found.isDirectory()) return [path];
  const entries = await readdir(path, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((file) => file.slice(path.length).split(/[\\/]/).every(isShown))
    .sort();
}

function isShown(name: string): boolean {
  return !/^[._]/.test(name);
}

function formatOf(name: string): Pick<DataFile, 'format' | 'isGzipped'> | undefined {
  const [, ending, gz] =
    /\.(csv|ndjson|jsonl|parquet)(\.gz)?$/i.exec(name)?.map((it) => it?.toLowerCase()) ?? [];
  if (ending === undefined || (ending === 'parquet' && gz)) return undefined;
  return { format: ending === 'jsonl' ? 'ndjson' : (ending as FileFormat), isGzipped: gz !== undefined };
}

async function fileOnDisk(path: string): Promise<DataFile | undefined> {
  const format = formatOf(path);
  if (!format) return undefined;
  const { size, mtime } = await stat(path);
  return {
    ...format,
    ...{ name: path, parts: path.split(/[\\/]/), path, bytes: size, madeAt: mtime },
    ...{ archive: undefined, crc32: undefined },
    open: async () => createReadStream(path, { highWaterMark: 256 * 1024 }),
    content: () => digestOf(path),
  };
}

async function digestOf(path: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path, { highWaterMark: 1024 * 1024 }), hash);
  return `sha256:${hash.digest('hex')}`;
}

const uuid = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/gi;

async function filesInArchive(path: string): Promise<{ files: DataFile[]; others: string[] }> {
  const { entries, comment } = await readArchive(path);
  const shown = entries.filter(({ fileName }) => fileName.split('/').every(isShown));
  const name = basename(path);
  const subject = name.replace(uuid, '');
  const { mtime } = await stat(path);
  // 1980 is what a ZIP file says if it says nothing.
  const madeAt = (at: Date) => (at.getFullYear() > 1980 ? at : mtime);
  const archive: Archive = {
    ...{ path, name, subject: subject === name ? '' : subject },
    madeAt: new Date(
      shown.reduce((newest, { modifiedAt }) => Math.max(newest, madeAt(modifiedAt).getTime()), 0),
    ),
    servedBy: comment.startsWith('gmsi-sandbox') ? 'sandbox' : 'service',
  };
  const files: DataFile[] = [];
  const others: string[] = [];
  for (const entry of shown) {
    const { fileName, crc32, uncompressedSize } = entry;
    const format = formatOf(fileName);
    if (!format) {
      others.push(`${path}/${fileName}`);
      continue;
    }
    files.push({
      ...format,
      ...{ name: `${path}/${fileName}`, parts: [...path.split(/[\\/]/), ...fileName.split('/')] },
      ...{ path: undefined, bytes: uncompressedSize, madeAt: madeAt(entry.modifiedAt), archive, crc32 },
      open: () => openEntry(path, entry),
      content: async () => `${fileName} ${uncompressedSize} ${crc32.toString(16).padStart(8, '0')}`,
    });
  }
  return { files, others };
}
