import { pipeline } from 'node:stream/promises';
import type pg from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import type { Row } from '../src/feeds/feed.ts';
import { gmsiHeadlines } from '../src/feeds/gmsi-headlines.ts';
import { series, type WindowOfPages } from './pages.ts';
import { checkpoint } from './windows.ts';

const columns = Object.keys(gmsiHeadlines.table.columns);
const copy = `copy gmsi.headlines (country, topic, match_type, is_backfilled, load_id, ${columns}) from stdin`;

/**
 * The reference: what COPY does with the same pages in the same table, one transaction a page with its checkpoint.
 * It keeps no revisions and takes no row twice, which is why the loader is no COPY.
 */
export async function copyWindow(
  client: pg.Client,
  windowId: number,
  country: string,
  pages: WindowOfPages,
): Promise<void> {
  for (const [page, rows] of pages.entries()) {
    await client.query('begin');
    const stream = client.query(copyFrom(copy));
    await pipeline([copyText(rows, `${country}\t${series.topic}\t${series.match_type}\tt\t1`)], stream);
    await client.query({ ...checkpoint, values: [windowId, `token ${page}`, rows.length] });
    await client.query('commit');
  }
}

function copyText(rows: readonly Row[], first: string): string {
  let text = '';
  for (const row of rows) {
    text += first;
    for (const column of columns) text += `\t${copyValue(row[column]!)}`;
    text += '\n';
  }
  return text;
}

const escapes: Readonly<Record<string, string>> = { '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t' };

function copyValue(value: string | number | null): string | number {
  if (value === null) return '\\N';
  return typeof value === 'string' ? value.replace(/[\\\n\r\t]/g, (character) => escapes[character]!) : value;
}
