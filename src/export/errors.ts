import { GmsiError } from '../errors.ts';

/** The files could not be written to their end; a full disk, most likely. */
export class ExportNotWritten extends GmsiError {
  override readonly kind = 'retryable';
}

/** What stands in the files is not what the warehouse counted. */
export class ExportDiffers extends GmsiError {
  override readonly kind = 'retryable';
}

/** Where nothing but the file system can be at fault. @throws ExportNotWritten, AbortError */
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
