import type { Readable } from 'node:stream';
import { type Entry, open, type ZipFile } from 'yauzl';

/** An entry in the directory of a ZIP file. */
export interface ZipEntry extends Entry {
  readonly modifiedAt: Date;
}

/** Reads the directory of a ZIP or ZIP64 file. @throws an error that says what is wrong with it */
export async function readArchive(path: string): Promise<{ entries: ZipEntry[]; comment: string }> {
  const zip = await openZip(path);
  try {
    const entries: ZipEntry[] = [];
    await new Promise<void>((resolve, reject) => {
      zip.on('error', reject);
      zip.on('end', resolve);
      zip.on('entry', (entry: Entry) => {
        // Entries for folders end with a slash.
        if (!entry.fileName.endsWith('/'))
          entries.push(Object.assign(entry, { modifiedAt: entry.getLastModDate() }));
        zip.readEntry();
      });
      zip.readEntry();
    });
    return { entries, comment: zip.comment };
  } finally {
    zip.close();
  }
}

/**
 * Opens the unpacked bytes of a file in a ZIP file. Opens the ZIP file each time, so that thousands do not stay open. The
 * stream fails if it has more or fewer bytes than the directory says.
 */
export async function openEntry(path: string, entry: ZipEntry): Promise<Readable> {
  const zip = await openZip(path);
  try {
    return await new Promise<Readable>((resolve, reject) => {
      zip.on('error', reject);
      zip.openReadStream(entry, (error, stream) => (error ? reject(error) : resolve(stream)));
    });
  } finally {
    // yauzl closes the file once the stream has ended.
    zip.close();
  }
}

/** Opens a ZIP file. yauzl refuses the whole archive if a name contains `..` or is an absolute path. */
function openZip(path: string): Promise<ZipFile> {
  return new Promise((resolve, reject) =>
    open(path, { lazyEntries: true, autoClose: false }, (error, zip) =>
      error ? reject(error) : resolve(zip),
    ),
  );
}
