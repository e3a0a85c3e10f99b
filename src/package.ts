import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** Returns the path of a file in the package. This file and the built one are both one folder below the package's root. */
export function inPackage(path: string): string {
  return fileURLToPath(new URL(`../${path}`, import.meta.url));
}

export const version: string = JSON.parse(readFileSync(inPackage('package.json'), 'utf8')).version;

/** The version, and the commit that the program was built from, if the build had git (build.mjs). */
export const build: string = [version, ...builtCommit()].join(' ');

function builtCommit(): string[] {
  const file = new URL('commit', import.meta.url);
  return existsSync(file) ? [`(${readFileSync(file, 'utf8')})`] : [];
}
