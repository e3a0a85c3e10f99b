import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** Path of what comes with the program, wherever it is installed; this file and the built ones are one folder below. */
export function inPackage(path: string): string {
  return fileURLToPath(new URL(`../${path}`, import.meta.url));
}

/** The version in package.json. */
export const version: string = JSON.parse(readFileSync(inPackage('package.json'), 'utf8')).version;
