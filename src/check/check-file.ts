import { basename } from 'node:path';
import { z } from 'zod';
import { ConfigError } from '../errors.ts';
import { knownNames } from '../nearest.ts';
import { inPackage } from '../package.ts';

/** One quality check: a query whose rows are its findings, and the comments at the head of its file. */
export interface Check {
  /** The file's name without its ending. */
  readonly name: string;
  /** As shown to people. */
  readonly path: string;
  readonly title: string;
  readonly why: string;
  /** Names of feeds, or `all`. */
  readonly feeds: readonly string[];
  /** `warn` if ordinary data may have findings. */
  readonly severity: 'fail' | 'warn';
  /** Tables, or sets of the job's rows, that the check reads. If one is empty, the check is skipped rather than passed. */
  readonly needs: readonly string[];
  /** Columns about all findings together: a change in them does not make a finding another one. */
  readonly totals: readonly string[];
  /** The whole file, without the semicolon at its end. */
  readonly query: string;
}

/** The check file is wrong. */
export class BrokenCheck extends ConfigError {}

const list = z.string().transform((text) => text.split(',').map((name) => name.trim()));

/** The comments at the head of a check file. Each message completes "must". */
const headers = z.strictObject({
  check: z.string('say what is checked').min(1, 'say what is checked'),
  why: z.string('say what a finding means').min(1, 'say what a finding means'),
  feeds: list.default(['gmsi-headlines']),
  severity: z.enum(['fail', 'warn'], 'be fail or warn').default('fail'),
  needs: list
    .pipe(z.array(z.string().regex(/^\w+(\.\w+)?$/, 'name tables, such as gmsi.gmsi_index')))
    .default([]),
  totals: list.default([]),
});

/**
 * Reads a check file: comments such as `-- check: title` at its head, then one query.
 * @param knownFeeds names that `-- feeds:` may contain
 * @throws BrokenCheck with the file and the comment
 */
export function parseCheck(path: string, text: string, knownFeeds: readonly string[]): Check {
  const refuse = (
    message: string,
    hint = `How to write a check file: ${inPackage('docs/reference.md')}`,
  ): never => {
    throw new BrokenCheck(`${path}: ${message}.`, { hint });
  };
  const query = text.trimEnd().replace(/;$/, '');
  if (query.replace(/^\s*--.*$/gm, '').trim() === '') refuse('it contains no query');
  const { data: head, error } = headers.safeParse(headOf(text));
  if (!head) {
    const issue = error.issues[0]!;
    if (issue.code !== 'unrecognized_keys')
      return refuse(`"-- ${String(issue.path[0])}:" must ${issue.message}`);
    const [name = ''] = issue.keys;
    return refuse(`"-- ${name}:" is not a header`, knownNames(name, Object.keys(headers.shape)));
  }
  const feeds = ['all', ...knownFeeds];
  const unknown = head.feeds.find((name) => !feeds.includes(name));
  if (unknown !== undefined) refuse(`there is no feed "${unknown}"`, knownNames(unknown, feeds));
  const { check: title, ...said } = head;
  return { name: basename(path, '.sql'), path, title, ...said, query };
}

/** Returns the comments `-- name: value` before the query; ignores other comments. */
function headOf(text: string): Record<string, string> {
  const lines = text.split(/\r?\n/);
  const end = lines.findIndex((line) => !/^\s*(--.*)?$/.test(line));
  const found = lines.slice(0, end === -1 ? lines.length : end).flatMap((line) => {
    const [, name, value = ''] = /^--\s*([a-z]+):\s*(.*?)\s*$/.exec(line) ?? [];
    return name === undefined ? [] : [[name, value] as const];
  });
  return Object.fromEntries(found);
}
