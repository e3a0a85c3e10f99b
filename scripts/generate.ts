import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from '../src/warehouse/connect.ts';
import { useEmbeddedServer } from '../src/warehouse/embedded/server.ts';
import { migrate } from '../src/warehouse/migrate.ts';
import { dictionaryFiles, schemaFiles } from './generated.ts';

const files = process.argv[2] === 'schema' ? schemaFiles() : await dictionaryOfFreshDatabase();
for (const [path, text] of Object.entries(files))
  await writeFile(join(import.meta.dirname, '..', path), text);

async function dictionaryOfFreshDatabase(): Promise<Record<string, string>> {
  const home = await mkdtemp(join(tmpdir(), 'gmsi-dictionary-'));
  // The server, which root does not run as root, keeps its data elsewhere if it may not enter.
  await chmod(home, 0o755);
  try {
    await using server = await useEmbeddedServer(home);
    await using db = connect({ kind: 'url', url: server.url }, 1);
    await migrate(db);
    return await dictionaryFiles(db);
  } finally {
    await rm(home, { recursive: true, force: true });
  }
}
