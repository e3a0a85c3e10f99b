import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import { sql } from 'kysely';
import { ZipFile } from 'yazl';
import { type ImportContext, type ImportResult, importFiles } from '../../src/import/import-files.ts';
import type { Stated } from '../../src/import/place-file.ts';
import { createLog } from '../../src/terminal/log.ts';
import type { Warehouse } from '../../src/warehouse/connect.ts';
import { aProcess } from '../support/a-process.ts';
import { test } from '../support/serving.ts';
import { sqlIn } from '../support/warehouse-state.ts';

export const clock = () => new Date('2026-11-20T12:00:00Z');

interface Setting extends Partial<Omit<ImportContext, 'warehouse' | 'stated' | 'paths'>> {
  readonly stated?: Partial<Stated>;
}

/** Runs an import as `gmsi import` would, in this process. */
export async function runImport(
  db: Warehouse,
  paths: readonly string[],
  { stated, ...rest }: Setting = {},
): Promise<ImportResult> {
  const nothing = { feed: undefined, country: undefined, topic: undefined, ticker: undefined };
  await using process = await aProcess(db);
  const stop = rest.stop ?? new AbortController().signal;
  return await importFiles({
    warehouse: db.patient({ signal: stop }),
    process,
    paths,
    days: undefined,
    knownAt: undefined,
    clock,
    databaseClock: async () => clock(),
    stop,
    onProgress: () => {},
    log: createLog({ level: 'silent', readable: false }),
    stated: { ...nothing, matchType: undefined, ...stated },
    ...rest,
  });
}

export async function aFolder() {
  const path = await mkdtemp(join(tmpdir(), 'gmsi-import-'));
  return {
    path,
    /** Writes a file of it, packed if its name says so. @returns its path */
    async write(name: string, content: string | Buffer): Promise<string> {
      const file = join(path, name);
      await mkdir(dirname(file), { recursive: true });
      await writeFile(file, name.endsWith('.gz') ? gzipSync(content) : content);
      return file;
    },
    [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }),
  };
}

/** A test that gets a folder of its own if it names one, and a warehouse. */
export const it = test.extend<{ readonly folder: Awaited<ReturnType<typeof aFolder>> }>({
  // biome-ignore lint/correctness/noEmptyPattern: vitest reads which fixtures this one needs
  async folder({}, use) {
    await using folder = await aFolder();
    await use(folder);
  },
});

export async function aZip(
  entries: Readonly<Record<string, Buffer | Readable>>,
  { comment = '', mtime = new Date(), mode = 0o100664 } = {},
): Promise<Buffer> {
  const zip = new ZipFile();
  for (const [name, content] of Object.entries(entries)) {
    if (Buffer.isBuffer(content)) zip.addBuffer(content, name, { mtime, mode });
    else zip.addReadStream(content, name, { mtime, mode });
  }
  zip.end({ comment, forceZip64Format: false });
  return buffer(zip.outputStream as Readable);
}

/** The rows of a feed's table but for when they were asked for and came, and by what, in the order of their times. */
export async function rowsIn(db: Warehouse, table: string): Promise<object[]> {
  const rows = await sqlIn(db)<{ row: object; place: string }>`
    select row, published_at::text || row::text as place
    from (
      select published_at, to_jsonb(kept) - 'load_id' - 'window_id' - 'asked_at' - 'first_seen_at' - 'changed_at' as row
      from ${sql.table(`gmsi.${table}`)} as kept
    ) as kept`;
  return rows.sort((a, b) => (a.place < b.place ? -1 : 1)).map(({ row }) => row);
}

/** Made-up GMSI headlines of a minute each, as NDJSON. */
export function manyRecords(count: number, from = 0): string {
  const begin = Date.parse('2024-01-01T00:00:00Z');
  const lines = Array.from({ length: count }, (_, index) => {
    const at = from + index;
    const id = `00000000-0000-4000-8000-${at.toString(16).padStart(12, '0')}`;
    const publication_time = new Date(begin + at * 60_000).toISOString().slice(0, 19);
    return `{"id":"${id}","publication_time":"${publication_time}","headline":"Headline ${at} of many","directional_positive":0.5,"directional_neutral":0.25,"directional_negative":0.25}\n`;
  });
  return lines.join('');
}

/** What the user says of a file of such records. */
export const statedOfMany = {
  feed: 'gmsi-headlines',
  country: 'US',
  topic: 'Inflation-Food',
  matchType: 'COMBINED',
};
