import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** Returns the path of a file in the package. This file and the built one are both one folder below the package's root. */
export function inPackage(path: string): string {
  return fileURLToPath(new URL(`../${path}`, import.meta.url));
}

export const version: string = JSON.parse(readFileSync(inPackage('package.json'), 'utf8')).version;
