import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { SandboxOptions } from '#sandbox';
import { root } from './pages.ts';

export const analysisPage = readFileSync(join(root, 'docs/analysis.md'), 'utf8');

/** A query of the page and, below it, what it returned when the page was written. */
export const answered =
  /^(?<untilResult>```sql analysis\n(?<asked>[\s\S]*?)^```\n\n```text\n)(?<result>[\s\S]*?)^```$/gm;

export const backTest = readFileSync(join(root, 'examples/backtest.py'), 'utf8');

/** When everything on the page was loaded, except for its revisions. */
export const later = () => new Date('2026-11-20T12:00:00Z');

/** The sandbox behind the page's results. */
export const demo: SandboxOptions = { seed: 'demo', volume: 0.6, limits: null };
