import { chmod } from 'node:fs/promises';
import { dirname } from 'node:path';
import { inject } from 'vitest';
import { copyHome } from './copy-home.ts';

/** Makes a GMSI_HOME whose embedded server is set up and stopped, in a folder that its user is let into. */
export async function anEmbeddedHome(home: string): Promise<void> {
  await chmod(dirname(home), 0o755);
  await copyHome(inject('embeddedHome'), home);
}
