import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

/** Copies a GMSI_HOME, whose server must be stopped, with its owners, as Node.js cannot. */
export async function copyHome(from: string, to: string): Promise<void> {
  await promisify(execFile)('cp', ['-a', from, to]);
}
