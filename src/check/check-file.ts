import { basename } from 'node:path';
import { ConfigError } from '../errors.ts';
import { knownNames } from '../nearest.ts';
import { type CheckSetting, readSetting } from './settings.ts';

/** One quality check: a query whose rows are its findings, and what the comments at the head of its file say. */
export interface Check {
  /** The file's name without its ending. */
  readonly name: string;
  /** As it is told to people. */
  readonly path: string;
  readonly title: string;
  readonly why: string;
  /** Feeds whose jobs it can check. */
  readonly feeds: 'all' | readonly string[];
  /** `warn` where ordinary data may have findings. */
  readonly severity: 'fail' | 'warn';
  /** What must hold rows for the check to mean anything: a table, or one of the job's sets of rows. */
  readonly needs: string | undefined;
  readonly settings: readonly CheckSetting[];
  /** The whole file, without the semicolon at its end. */
  readonly query: string;
}

/** A check file that cannot be run as it is. */
export class BrokenCheck extends ConfigError {}

const headers = ['check', 'why', 'feeds', 'severity', 'needs', 'setting'];
const shape = 'docs/checking.md shows how a check file is written.';

/**
 * Reads a check file: comments such as `-- check: title` at its head, then one query.
 * @param knownFeeds names that `-- feeds:` may hold
 * @throws BrokenCheck naming the file and the line
 */
export function parseCheck(path: string, text: string, knownFeeds: readonly string[]): Check {
  const refuse = (message: string, hint = shape, line?: number): never => {
    throw new BrokenCheck(`${path}${line === undefined ? '' : `:${line}`}: ${message}.`, { hint });
  };
  const head = headOf(text);
  for (const { name, line } of head) {
    if (!headers.includes(name)) refuse(`"-- ${name}:" is no header`, knownNames(name, headers), line);
  }
  const all = (name: string) => head.filter((header) => header.name === name);
  const one = (name: string) => {
    const [first, second] = all(name);
    if (second) refuse(`"-- ${name}:" stands there twice`, shape, second.line);
    return first;
  };
  const needed = (name: string) =>
    one(name)?.value || refuse(`it has no comment "-- ${name}: …" at its head`);

  const query = text.trimEnd().replace(/;$/, '');
  if (query.replace(/^\s*--.*$/gm, '').trim() === '') refuse('there is no query in it');
  const severity = one('severity') ?? { value: 'fail', line: undefined };
  if (!isSeverity(severity.value)) return refuse('the severity is fail or warn', shape, severity.line);
  const needs = one('needs');
  if (needs && !/^\w+(\.\w+)?$/.test(needs.value))
    refuse('"-- needs:" names one table, such as gmsi.gmsi_index', shape, needs.line);
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
    needs: needs?.value,
    settings: all('setting').map(
      ({ value, line }) =>
        readSetting(value) ?? refuse('a setting is written "name = number, what it means"', shape, line),
    ),
    query,
  };
}

interface Header {
  readonly name: string;
  readonly value: string;
  /** Counted from 1. */
  readonly line: number;
}

/** The comments `-- name: value` before the query; others are left alone. */
function headOf(text: string): Header[] {
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
