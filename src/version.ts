import { readFileSync } from 'node:fs';

/** The version in package.json, read from beside the code, wherever it is installed. */
export const version: string = JSON.parse(
  readFileSync(new URL('../package.json', import.meta.url), 'utf8'),
).version;
