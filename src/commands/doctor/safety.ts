import { accessSync, constants, statSync } from 'node:fs';
import { dirname, relative, resolve } from 'node:path';
import type { Config } from '../../config/environment.ts';
import { jobFilesIn } from '../../config/find-job-file.ts';
import { typed } from '../../config/typed.ts';
import { isReadableOnTheWay } from '../../service/address.ts';
import type { Finding } from './doctor-report.ts';

/** Looks for settings and modes of files by which others could learn the key or change what is loaded. */
export async function lookAtSafety(
  { apiKeyFile, baseUrl, sendKeyUnencrypted, verifiesTls, extraCaCerts }: Config,
  cwd: string,
): Promise<Pick<Finding, 'found' | 'fix'>> {
  const secrets = ['.env', ...(apiKeyFile === undefined ? [] : [apiKeyFile])];
  const trusted = ['.', ...secrets, 'jobs', ...(await jobFilesIn('jobs', cwd))];
  const read = secrets.filter((path) => isOpen(resolve(cwd, path), 0o004));
  const written = trusted.filter((path) => isOpen(resolve(cwd, path), 0o002));
  const shown = (paths: readonly string[]) =>
    paths.map((path) => typed(relative(cwd, resolve(cwd, path)) || '.')).join(' ');
  const faults: readonly (readonly [boolean, found: string, fix: string])[] = [
    [
      !verifiesTls,
      'NODE_TLS_REJECT_UNAUTHORIZED=0: no certificate is verified, so the key may go to anybody',
      'unset NODE_TLS_REJECT_UNAUTHORIZED (NODE_EXTRA_CA_CERTS trusts an authority of your own)',
    ],
    [
      extraCaCerts !== undefined && !isReadable(extraCaCerts),
      'NODE_EXTRA_CA_CERTS names no file that can be read, so Node.js ignores it',
      'set NODE_EXTRA_CA_CERTS to a .pem file',
    ],
    [
      sendKeyUnencrypted && baseUrl !== undefined && isReadableOnTheWay(baseUrl),
      'GMSI_SEND_KEY_UNENCRYPTED=true: others on the network can read the key',
      'use https:// in GMSI_BASE_URL',
    ],
    [read.length > 0, `every user of this machine can read ${shown(read)}`, `chmod o-r ${shown(read)}`],
    [
      written.length > 0,
      `every user of this machine can change ${shown(written)}`,
      `chmod o-w ${shown(written)}`,
    ],
  ];
  const present = faults.filter(([is]) => is);
  if (present.length === 0)
    return { found: 'no other user of this machine can read the key or change the jobs' };
  return {
    found: present.map(([, found]) => found).join('; '),
    fix: present.map(([, , fix]) => fix).join('; '),
  };
}

/** Returns true if every user has a right to a file, which takes a way to it, too. Windows has no such modes. */
function isOpen(path: string, bit: number): boolean {
  if (process.platform === 'win32') return false;
  const mode = statSync(path, { throwIfNoEntry: false })?.mode ?? 0;
  const above = dirname(path);
  return (mode & bit) !== 0 && (above === path || isOpen(above, 0o001));
}

function isReadable(path: string): boolean {
  try {
    accessSync(path, constants.R_OK);
    return true;
  } catch {
    return false;
  }
}
