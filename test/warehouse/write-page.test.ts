import type { CompiledQuery } from 'kysely';
import { expect, test } from 'vitest';
import { gmsiHeadlines } from '../../src/feeds/gmsi-headlines.ts';
import { upsertRows } from '../../src/warehouse/tables/rows.ts';
import type { WriteTransaction } from '../../src/warehouse/write-transaction.ts';
import { aRow, series, sorted } from './a-row.ts';

/** The same statement without quotes, its lists of columns broken into lines. */
function readable(statement: string): string {
  const [, margin] = /^( *)with/m.exec(statement)!;
  return statement
    .replaceAll('"', '')
    .replace(/^( *)(select .*?) from \((select .*)\) as sent$/gm, '$1$2\n$1from ($3) as sent')
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => line.trimEnd().slice(margin!.length))
    .map((line) => line.replace(/(.{80,110}?,) (?=\S)/g, `$1\n${' '.repeat(line.search(/\S/) + 2)}`))
    .join('\n');
}

test('a page of headlines is written by the statements of write-page.sql, the first only if its rows are likely new', async () => {
  const sent: string[] = [];
  const trx = {
    async executeQuery({ sql }: CompiledQuery) {
      sent.push(sql);
      return { rows: [{ inserted: 0, changed: 0 }], numAffectedRows: 0n };
    },
  } as unknown as WriteTransaction;
  const rows = sorted([aRow()]);
  const provenance = { series, loadId: 1, windowId: 1, witnessed: '{}' } as const;
  await upsertRows(trx, gmsiHeadlines.table, rows, provenance, true);

  const [insert, upsert] = sent.map(readable);
  expect(sent).toHaveLength(2);
  const text = `-- Written by \`npx vitest run test/warehouse/write-page.test.ts -u\`; do not edit it by hand.
-- A page of gmsi.headlines: one array for each column. The names of the parameters are in src/warehouse/tables/rows.ts.

-- Inserts rows that are likely new, if the table has none of them.
${insert};

-- Otherwise: inserts new rows, replaces changed ones, and leaves equal ones alone.
${upsert};
`;
  await expect(text).toMatchFileSnapshot('write-page.sql');
});
