import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { SandboxOptions } from '#sandbox';
import { root } from './pages.ts';

export const analysisPage = readFileSync(join(root, 'docs/analysis.md'), 'utf8');

/** A query or a program of the page and, below it, what it printed when the page was written. */
export const answered =
  /^(?<untilResult>```(?<marks>sql analysis|python analysis pandas)\n(?<asked>[\s\S]*?)^```\n\n```text\n)(?<result>[\s\S]*?)^```$/gm;

/** When everything on the page was loaded, except for its revisions. */
export const later = () => new Date('2026-11-20T12:00:00Z');

/** The sandbox behind the page's results. */
export const demo: SandboxOptions = { seed: 'demo', volume: 0.6, limits: null };

/** The rows printed below the first query under a heading: numbers as numbers, empty cells as null. */
export function printedUnder(heading: string): Record<string, string | number | null>[] {
  const section = analysisPage.split(`\n## ${heading}\n`)[1]!;
  const { result } = [...section.matchAll(answered)][0]!.groups!;
  const [head = '', rule = '', ...rows] = result!.trimEnd().split('\n');
  // By position, because a cell may have a bar in it.
  const bars = [...rule.matchAll(/\+/g)].map(({ index }) => index);
  const cellsOf = (line: string) =>
    [0, ...bars.map((bar) => bar + 1)].map((from, n) => line.slice(from, bars[n]).trim());
  const names = cellsOf(head);
  return rows.map((row) => Object.fromEntries(cellsOf(row).map((cell, n) => [names[n]!, cellValue(cell)])));
}

function cellValue(cell: string): string | number | null {
  if (cell === '') return null;
  return Number.isNaN(Number(cell)) ? cell : Number(cell);
}
