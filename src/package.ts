import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/**
 * The path of a file of the package, wherever it is installed; this file and the built one are one folder below its root.
 */
export function inPackage(path: string): string {
  return fileURLToPath(new URL(`../${path}`, import.meta.url));
}

/** The version in package.json. */
export const version: string = JSON.parse(readFileSync(inPackage('package.json'), 'utf8')).version;
