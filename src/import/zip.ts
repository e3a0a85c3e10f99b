import type { Readable } from 'node:stream';
import { type Entry, open, type ZipFile } from 'yauzl';

/** A file in a ZIP file, as the ZIP file's directory has it. */
export interface ZipEntry extends Entry {
  readonly modifiedAt: Date;
}

/** Reads the directory of a ZIP file, ZIP64 included, without its files. @throws an error that says what is wrong with it */
export async function readArchive(path: string): Promise<{ entries: ZipEntry[]; comment: string }> {
  const zip = await openZip(path);
  try {
    const entries: ZipEntry[] = [];
    await new Promise<void>((resolve, reject) => {
      zip.on('error', reject);
      zip.on('end', resolve);
      zip.on('entry', (entry: Entry) => {
        // The directory's own entries end with a slash.
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
 * The unpacked bytes of a file in a ZIP file. The ZIP file is opened for each of its files, so that thousands of them do not
 * stay open. A stream that brings more or fewer bytes than the directory says ends with an error.
 */
export async function openEntry(path: string, entry: ZipEntry): Promise<Readable> {
  const zip = await openZip(path);
  try {
    return await new Promise<Readable>((resolve, reject) => {
      zip.on('error', reject);
      zip.openReadStream(entry, (error, stream) => (error ? reject(error) : resolve(stream)));
    });
  } finally {
    // The file itself is closed once the stream has ended.
    zip.close();
  }
}

/** yauzl refuses names with `..`, absolute paths and the like: such an archive is not read at all. */
function openZip(path: string): Promise<ZipFile> {
  return new Promise((resolve, reject) =>
    open(path, { lazyEntries: true, autoClose: false }, (error, zip) =>
      error ? reject(error) : resolve(zip),
    ),
  );
}
