import { ConfigError, GmsiError } from '../errors.ts';
import { type Manifest, manifestName } from './manifest.ts';

/** The files could not be written completely; most likely, the disk is full. */
export class ExportNotWritten extends GmsiError {
  override readonly kind = 'retryable';
}

/** The files do not hold what the warehouse counted. */
export class ExportDiffers extends GmsiError {
  override readonly kind = 'retryable';
}

/** Runs work in which only the file system can fail. @throws ExportNotWritten, AbortError */
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

/** What may be there when an export begins: nothing, an export that is replaced, or one that is continued. */
export type OpenMode = 'new' | 'replace' | 'continue';

/**
 * @param held names of what is there
 * @throws ConfigError if that is anything but an export, or an export that may not be replaced
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

/** Where an export goes. */
export interface ExportTarget extends AsyncDisposable {
  /** Where the export will be: an absolute path, or an address. */
  readonly place: string;
  /** A folder on this machine, in which the new files are made; removed when disposed. */
  readonly path: string;
  /** The export that is continued, if there is one. */
  readonly held: Manifest | undefined;
  /** Puts the new files and the manifest in place. Other files that it lists stay, all others of the export are removed. */
  publish(manifest: Manifest): Promise<void>;
}
