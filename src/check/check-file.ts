import { basename } from 'node:path';
import { ConfigError } from '../errors.ts';
import { knownNames } from '../nearest.ts';

/** One quality check: a query whose rows are its findings, and the comments at the head of its file. */
export interface Check {
  /** The file's name without its ending. */
  readonly name: string;
  /** As shown to people. */
  readonly path: string;
  readonly title: string;
  readonly why: string;
  readonly feeds: 'all' | readonly string[];
  /** `warn` if ordinary data may have findings. */
  readonly severity: 'fail' | 'warn';
  /** Tables, or sets of the job's rows, that the check reads. If one is empty, the check is skipped rather than passed. */
  readonly needs: readonly string[];
  /** The whole file, without the semicolon at its end. */
  readonly query: string;
}

/** The check file is wrong. */
export class BrokenCheck extends ConfigError {}

const headers = ['check', 'why', 'feeds', 'severity', 'needs'];
const shape = 'docs/reference.md shows how to write a check file.';

/**
 * Reads a check file: comments such as `-- check: title` at its head, then one query.
 * @param knownFeeds names that `-- feeds:` may contain
 * @throws BrokenCheck with the file and the line
 */
export function parseCheck(path: string, text: string, knownFeeds: readonly string[]): Check {
  const refuse = (message: string, hint = shape, line?: number): never => {
    throw new BrokenCheck(`${path}${line === undefined ? '' : `:${line}`}: ${message}.`, { hint });
  };
  const head = headOf(text);
  for (const { name, line } of head) {
    if (!headers.includes(name)) refuse(`"-- ${name}:" is not a header`, knownNames(name, headers), line);
  }
  const one = (name: string) => {
    const [first, second] = head.filter((header) => header.name === name);
    if (second) refuse(`"-- ${name}:" appears twice`, shape, second.line);
    return first;
  };
  const needed = (name: string) =>
    one(name)?.value || refuse(`it has no comment "-- ${name}: …" at its head`);

  const query = text.trimEnd().replace(/;$/, '');
  if (query.replace(/^\s*--.*$/gm, '').trim() === '') refuse('it contains no query');
  const severity = one('severity') ?? { value: 'fail', line: undefined };
  if (!isSeverity(severity.value)) return refuse('the severity must be fail or warn', shape, severity.line);
  const needs = one('needs');
  const tables = needs?.value.split(',').map((name) => name.trim()) ?? [];
  if (!tables.every((name) => /^\w+(\.\w+)?$/.test(name)))
    refuse('"-- needs:" must name tables, such as gmsi.gmsi_index', shape, needs?.line);
  const feeds = one('feeds') ?? { value: 'gmsi-headlines', line: undefined };
  const named = feeds.value.split(',').map((name) => name.trim());
  const unknown = feeds.value === 'all' ? undefined : named.find((name) => !knownFeeds.includes(name));
  if (unknown !== undefined)
    refuse(`there is no feed "${unknown}"`, knownNames(unknown, ['all', ...knownFeeds]), feeds.line);

  return {
    name: basename(path, '.sql'),
    path,
    title: needed('check'),
    why: needed('why'),
    feeds: feeds.value === 'all' ? 'all' : named,
    severity: severity.value,
    needs: tables,
    query,
  };
}

/** Returns the comments `-- name: value` before the query, with their lines, counted from 1; ignores other comments. */
function headOf(text: string) {
  const lines = text.split(/\r?\n/);
  const end = lines.findIndex((line) => !/^\s*(--.*)?$/.test(line));
  return lines.slice(0, end === -1 ? lines.length : end).flatMap((text, index) => {
    const [, name, value = ''] = /^--\s*([a-z]+):\s*(.*?)\s*$/.exec(text) ?? [];
    return name === undefined ? [] : [{ name, value, line: index + 1 }];
  });
}

function isSeverity(value: string): value is Check['severity'] {
  return value === 'fail' || value === 'warn';
}
