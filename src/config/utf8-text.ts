import { isUtf8 } from 'node:buffer';
import { ConfigError } from '../errors.ts';

/**
 * Returns the text of a file that a person has written, without a byte order mark.
 * @throws ConfigError if it is not UTF-8: its names would be read with U+FFFD in them
 */
export function utf8Text(path: string, bytes: Buffer): string {
  if (isUtf8(bytes) && !bytes.includes(0)) return bytes.toString().replace(/^\uFEFF/, '');
  throw new ConfigError(`${path} is not UTF-8 text.`, { hint: 'Save it as UTF-8.' });
}
