import { isUtf8 } from 'node:buffer';
import { constants } from 'node:fs';
import { open, realpath } from 'node:fs/promises';
import { dirname, join, sep } from 'node:path';
import { ConfigError } from '../errors.ts';

/**
 * Reads a file of a folder to which others may write. To open a pipe would block a thread until somebody writes to it, and with
 * it the end of the process; and errors quote what a file contains, so a link to any file that this user may read would show
 * it. Links within the folder are followed, because Kubernetes mounts files as such.
 * @param name what the file is called in an error
 * @throws ConfigError if it is no regular file, or a link out of its folder; the error of the file system
 */
export async function readInFolder(path: string, name: string): Promise<Buffer> {
  const refused = (why: string) =>
    new ConfigError(`${name} cannot be read: ${why}`, { hint: 'Put the file itself there.' });
  const real = await realpath(path);
  if (!real.startsWith(join(await realpath(dirname(path)), sep)))
    throw refused(`it is a link out of its folder, to ${real}`);
  await using file = await open(real, constants.O_RDONLY | constants.O_NONBLOCK);
  const is = await file.stat();
  if (!is.isFile()) throw refused(is.isDirectory() ? 'it is a folder' : 'it is not a regular file');
  return await file.readFile();
}

/**
 * Returns the text of a file that a person has written, without a byte order mark.
 * @throws ConfigError if it is not UTF-8: its names would be read with U+FFFD in them
 */
export function utf8Text(path: string, bytes: Buffer): string {
  if (isUtf8(bytes) && !bytes.includes(0)) return bytes.toString().replace(/^\uFEFF/, '');
  throw new ConfigError(`${path} is not UTF-8 text.`, { hint: 'Save it as UTF-8.' });
}
