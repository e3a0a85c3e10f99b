import { GmsiError } from '../errors.ts';
import type { Manifest } from './manifest.ts';

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

/** Where an export goes. */
export interface ExportTarget extends AsyncDisposable {
  /** Where the export will be: an absolute path. */
  readonly place: string;
  /** A folder on this machine, in which the new files are made; removed when disposed. */
  readonly path: string;
  /** The export that is continued, if there is one. */
  readonly held: Manifest | undefined;
  /** Puts the new files and the manifest in place. Other files that it lists stay, all others of the export are removed. */
  publish(manifest: Manifest): Promise<void>;
}
