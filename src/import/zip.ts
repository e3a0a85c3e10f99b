import { constants } from 'node:fs';
import type { Readable } from 'node:stream';
import { type Entry, openPromise, type ZipFile } from 'yauzl';

/** An entry in the directory of a ZIP file. */
export interface ZipEntry extends Entry {
  readonly modifiedAt: Date;
}

/** Returns true for a link, whose content is only the path that it leads to. The upper half of the attributes is the mode of Unix. */
export function isLink({ externalFileAttributes }: ZipEntry): boolean {
  return ((externalFileAttributes >>> 16) & constants.S_IFMT) === constants.S_IFLNK;
}

/** Reads the directory of a ZIP or ZIP64 file. @throws an error that says what is wrong with it */
export async function readArchive(path: string): Promise<{ entries: ZipEntry[]; comment: string }> {
  const zip = await openZip(path);
  try {
    const entries: ZipEntry[] = [];
    for await (const entry of zip.eachEntry()) {
      // Entries for folders end with a slash.
      if (!entry.fileName.endsWith('/'))
        entries.push(Object.assign(entry, { modifiedAt: entry.getLastModDate() }));
    }
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
