import type { Answer } from './loader.ts';

/** What the file of `gmsi serve --html` contains in the place of a server. */
interface Report {
  readonly warehouse: string;
  readonly at: string;
  /** By the address of the question. */
  readonly answers: Readonly<Record<string, Answer>>;
}

const text = globalThis.document?.getElementById('report')?.textContent;

/** The report that this page is; `undefined` in the page of a server. A report asks nothing, and has only what it contains. */
export const report: Report | undefined = text ? JSON.parse(text) : undefined;
