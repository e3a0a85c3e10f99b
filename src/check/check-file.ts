import { basename } from 'node:path';
import { ConfigError } from '../errors.ts';
import { knownNames, nearest } from '../nearest.ts';

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
  readonly settings: readonly CheckSetting[];
  /** The whole file, without the semicolon at its end. */
  readonly query: string;
}

/** The check file is wrong. */
export class BrokenCheck extends ConfigError {}

const headers = ['check', 'why', 'feeds', 'severity', 'needs', 'setting'];
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
  const all = (name: string) => head.filter((header) => header.name === name);
  const one = (name: string) => {
    const [first, second] = all(name);
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
    settings: all('setting').map(
      ({ value, line }) =>
        readSetting(value) ??
        refuse('a setting must be written as "name = number, what it means"', shape, line),
    ),
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

/** A number that a check compares with and that a user may tune. */
export interface CheckSetting {
  readonly name: string;
  readonly value: number;
  /** The meaning of the setting; empty if the file does not give it. */
  readonly meaning: string;
}

/** `0.02`, `-1`, `1e-9` */
const number = /-?\d+(?:\.\d+)?(?:e-?\d+)?/.source;
const settingPattern = new RegExp(`^([a-z]\\w*)\\s*=\\s*(${number})(?:,\\s*(.+))?$`);
const changePattern = new RegExp(`^(?:([\\w-]+)\\.)?(\\w+)=(${number})$`);

/** Reads `name = number, what it means`; `undefined` if it is written otherwise. */
function readSetting(text: string): CheckSetting | undefined {
  const [, name, value, meaning = ''] = settingPattern.exec(text) ?? [];
  return name === undefined ? undefined : { name, value: Number(value), meaning };
}

/** A setting changed for one run, in one check or in every check that has it. */
type Change = Pick<CheckSetting, 'name' | 'value'> & { readonly check: string | undefined };

/**
 * Checks with their settings changed for this run.
 * @param changes `name=number` for every check that has the setting, `check.name=number` for one; later ones win
 * @throws ConfigError naming the nearest setting
 */
export function withSettings(checks: readonly Check[], changes: readonly string[]): Check[] {
  const wanted = changes.map(readChange);
  for (const change of wanted) {
    const isMeant = (check: Check) => check.settings.some(({ name }) => concerns(change, check, name));
    if (!checks.some(isMeant)) throw unknownSetting(checks, change);
  }
  return checks.map((check) => ({
    ...check,
    settings: check.settings.map((setting) => {
      const change = wanted.findLast((one) => concerns(one, check, setting.name));
      return change ? { ...setting, value: change.value } : setting;
    }),
  }));
}

function readChange(text: string): Change {
  const [, check, name, value] = changePattern.exec(text) ?? [];
  if (name !== undefined) return { check, name, value: Number(value) };
  throw new ConfigError(`--set takes name=number, not "${text}".`, {
    hint: 'For example: --set tolerance=0.05, or --set score-sums.tolerance=0.05 for one check.',
  });
}

function concerns(change: Change, check: Check, setting: string): boolean {
  return change.name === setting && (change.check ?? check.name) === check.name;
}

function unknownSetting(checks: readonly Check[], { check, name }: Change): ConfigError {
  const written = check === undefined ? name : `${check}.${name}`;
  const known = checks.flatMap((one) =>
    one.settings.map((setting) => (check === undefined ? setting.name : `${one.name}.${setting.name}`)),
  );
  const meant = nearest(written, known);
  return new ConfigError(`No check has a setting "${written}".`, {
    hint: `${meant === undefined ? '' : `Did you mean ${meant}? `}gmsi check --list shows all settings.`,
  });
}
