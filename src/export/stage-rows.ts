import { open } from 'node:fs/promises';
import { writable } from './target.ts';

/** Rows on the disk, as CSV without a header, which DuckDB reads many times faster than single values. */
export interface Staged {
  readonly path: string;
  readonly rows: number;
  /** The bytes of the longest line. */
  readonly longest: number;
}

/**
 * Writes rows to as many files as they need.
 * @param batches lines of CSV; no batch has more lines than a file may have
 * @param pathOf the path of the nth file, from 0
 */
export async function* stageRows(
  batches: AsyncIterable<readonly string[]>,
  { pathOf, rowsPerFile }: { pathOf: (n: number) => string; rowsPerFile: number },
): AsyncGenerator<Staged> {
  const rest = batches[Symbol.asyncIterator]();
  let batch = await rest.next();
  try {
    for (let n = 0; !batch.done; n++) {
      const path = pathOf(n);
      let rows = 0;
      let longest = 0;
      const file = await writable(() => open(path, 'w', 0o600));
      try {
        while (!batch.done && rows + batch.value.length <= rowsPerFile) {
          const bytes = Buffer.from(`${batch.value.join('\n')}\n`);
          await writable(() => file.appendFile(bytes));
          rows += batch.value.length;
          longest = Math.max(longest, bytes.length);
          batch = await rest.next();
        }
      } finally {
        await file.close();
      }
      yield { path, rows, longest };
    }
  } finally {
    await rest.return?.();
  }
}
