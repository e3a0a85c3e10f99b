import { ConfigError, GmsiError } from '../errors.ts';
import { type Manifest, manifestName } from './manifest.ts';

/** The files could not be written in full, usually because the disk is full, or differ from the warehouse's counts. */
export class ExportNotWritten extends GmsiError {
  override readonly kind = 'retryable';
}

/** Runs work and reports its errors as the file system's. @throws ExportNotWritten, AbortError */
export async function writable<T>(write: () => Promise<T>): Promise<T> {
  try {
    return await write();
  } catch (cause) {
    const error = cause as Error;
    if (error.name === 'AbortError') throw error;
    throw new ExportNotWritten(`The export could not be written: ${error.message}`, {
      cause,
      hint: 'Is the disk full? Make room, or name another folder with --out, and run it again. Nothing was kept.',
    });
  }
}

/** What an export may find: nothing, an export to replace, or an export to continue. */
export type OpenMode = 'new' | 'replace' | 'continue';

/**
 * @param held names of existing files
 * @throws ConfigError if they are not an export, or an export that may not be replaced
 */
export function refuseTaken(place: string, held: readonly string[], mode: OpenMode): void {
  if (held.length === 0) return;
  const isExport = held.includes(manifestName);
  if (isExport && mode !== 'new') return;
  throw new ConfigError(`${place} is not empty.`, {
    hint: isExport
      ? 'Name another place with --out, or add --overwrite to replace that export, or --changed-since to continue it.'
      : 'Name another place with --out; --overwrite replaces nothing but an export.',
  });
}

/** The target of an export. */
export interface ExportTarget extends AsyncDisposable {
  /** An absolute path, or an address. */
  readonly place: string;
  /** A folder on this machine for the new files; removed when disposed. */
  readonly path: string;
  /** The export that is continued, if any. */
  readonly held: Manifest | undefined;
  /** Puts the new files and the manifest in place. Removes all other files of the export that the manifest does not list. */
  publish(manifest: Manifest): Promise<void>;
}
