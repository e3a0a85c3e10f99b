import { lstatSync, realpathSync } from 'node:fs';
import { dirname } from 'node:path';
import { ConfigError } from '../../errors.ts';
import type { Account } from './account.ts';

/**
 * Refuses a folder where all may write above it, such as one below `/tmp`, if somebody else has made it or could exchange it:
 * what is in it is run, and holds the data and the password.
 * @param account who runs the server, who may own it beside root and the user of this process
 * @throws ConfigError that says whose it is
 */
export function checkTrusted(folder: string, account: Account | undefined): void {
  const owners = [0, process.getuid?.(), account?.uid];
  const refuse = (what: string): never => {
    throw new ConfigError(`The embedded warehouse does not use ${folder}: ${what}.`, {
      hint: 'Look at what is in it, and remove or rename it; or set GMSI_HOME to a folder that every user can enter.',
    });
  };
  const found = lstatSync(folder);
  if (found.isSymbolicLink()) refuse('it is a symbolic link');
  if (!found.isDirectory()) refuse('it is not a folder');
  if (!owners.includes(found.uid)) refuse(`it belongs to another user (${found.uid})`);
  if (found.mode & 0o022) refuse('others may write to it');
  for (let above = dirname(realpathSync(folder)); ; above = dirname(above)) {
    const { uid, mode } = lstatSync(above);
    if (!owners.includes(uid)) refuse(`${above} belongs to another user (${uid})`);
    // In a folder with the sticky bit, such as /tmp, nobody can rename what is another's.
    if (mode & 0o022 && !(mode & 0o1000)) refuse(`others may write to ${above}`);
    if (above === dirname(above)) return;
  }
}
