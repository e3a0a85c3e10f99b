import type { z } from 'zod';
import { ConfigError } from '../errors.ts';
import { nearest } from '../nearest.ts';
import type { FieldPath, FilePosition, Locate } from './job.ts';

/** One problem in a job file. `message` says what was found, what was expected and the nearest valid value. */
export interface JobFileProblem {
  readonly position: FilePosition;
  /** Empty for the file as a whole. */
  readonly field: FieldPath;
  readonly message: string;
}

/** The job file is wrong. The message lists every problem with its file, line, column and field. */
export class JobFileError extends ConfigError {
  constructor(path: string, problems: readonly JobFileProblem[]) {
    const inOrder = problems.toSorted(
      (a, b) => a.position.line - b.position.line || a.position.column - b.position.column,
    );
    const heading = inOrder.length === 1 ? '' : `${path} has ${inOrder.length} problems:\n`;
    super(heading + table(path, inOrder), { hint: `Correct ${path} and run it again.` });
  }
}

/** `countries[2]`, `budget.reserve` */
function fieldName(path: FieldPath): string {
  return path
    .map((key) => (typeof key === 'number' ? `[${key}]` : `.${key}`))
    .join('')
    .replace(/^\./, '');
}

function table(path: string, problems: readonly JobFileProblem[]): string {
  const rows = problems.map(({ position, field, message }) => ({
    place: `${path}:${position.line}:${position.column}`,
    field: fieldName(field),
    message,
  }));
  const placeWidth = Math.max(...rows.map(({ place }) => place.length));
  const fieldWidth = Math.max(...rows.map(({ field }) => field.length));
  return rows
    .map(({ place, field, message }) =>
      [place.padEnd(placeWidth), ...(fieldWidth === 0 ? [] : [field.padEnd(fieldWidth)]), message].join('  '),
    )
    .join('\n');
}

type Issue = z.core.$ZodIssue;

/** The part of JSON Schema that lists the keys of a map and marks secrets. */
interface MapSchema {
  readonly properties?: Readonly<Record<string, unknown>>;
  readonly writeOnly?: boolean;
}

/**
 * Turns zod's issues into one problem per value or key, worded as "found …; did you mean …? Expected …". `file` is the checked
 * value; `schema` is its JSON Schema, which lists the valid keys.
 */
export function describeProblems(
  issues: readonly Issue[],
  file: unknown,
  schema: MapSchema,
  locate: Locate,
): JobFileProblem[] {
  const unknownKey = (field: FieldPath, known: readonly string[]): JobFileProblem => {
    const meant = nearest(String(field.at(-1)), known);
    const instead =
      meant === undefined ? `, expected one of ${known.join(', ')}` : `; did you mean ${show(meant)}?`;
    return { position: locate(field, true), field, message: `unknown${instead}` };
  };
  return issues.flatMap(withoutUnions).flatMap((issue): JobFileProblem[] => {
    const path = issue.path as FieldPath;
    if (issue.code === 'unrecognized_keys') {
      const known = Object.keys(schemaAt(schema, path)?.properties ?? {});
      return issue.keys.map((key) => {
        const problem = unknownKey([...path, key], known);
        // An address may be that of a webhook, which is a secret.
        return key.includes('://') ? { ...problem, field: path } : problem;
      });
    }
    if (issue.code === 'custom' && issue.params?.knownKeys !== undefined) {
      return [unknownKey(path, issue.params.knownKeys as string[])];
    }
    const value = valueAt(file, path);
    const found =
      value === undefined ? 'missing' : `found ${mayShow(schema, path) ? show(value) : 'a secret'}`;
    const meant = typeof value === 'string' ? nearest(value, candidatesOf(issue)) : undefined;
    const message = mismatch(found, issue.message, meant);
    return [{ position: locate(path), field: path, message }];
  });
}

/** Names the nearest valid value first, if there is one, because what was expected may be a long list. */
export function mismatch(found: string, expected: string, meant: string | undefined): string {
  return meant === undefined
    ? `${found}, expected ${expected}`
    : `${found}; did you mean ${show(meant)}? Expected ${expected}`;
}

/** Shortens a value, written as in a job file. */
function show(value: unknown): string {
  if (value === null) return 'nothing';
  if (Array.isArray(value)) return value.length === 0 ? 'an empty list' : 'a list';
  if (typeof value === 'object') return 'a map';
  const text = typeof value === 'string' ? JSON.stringify(value) : String(value);
  return text.length > 60 ? `${text.slice(0, 57)}…` : text;
}

/**
 * zod refuses "all, or a list" as a whole, even if only one item of the list is wrong. If only one alternative has the right
 * type, returns the issues of that one.
 */
function withoutUnions(issue: Issue): Issue[] {
  if (issue.code !== 'invalid_union') return [issue];
  const meant = issue.errors.filter((errors) => !errors.some(isOfAnotherKind));
  const [only] = meant;
  if (only === undefined || meant.length > 1) return [issue];
  return only.map((inner) => ({ ...inner, path: [...issue.path, ...inner.path] }));
}

function isOfAnotherKind(issue: Issue): boolean {
  return issue.path.length === 0 && (issue.code === 'invalid_type' || issue.code === 'invalid_value');
}

/** Returns the valid values that an issue names: literals, or candidates in the `params` of our own checks. */
function candidatesOf(issue: Issue): string[] {
  switch (issue.code) {
    case 'invalid_value':
      return issue.values.map(String);
    case 'invalid_union':
      return issue.errors.flat().flatMap(candidatesOf);
    case 'custom':
      // A list from the file itself may contain anything.
      return [(issue.params?.candidates ?? []) as unknown[]].flat().filter((one) => typeof one === 'string');
    default:
      return [];
  }
}

/** Returns whether a value may be shown. A user may have written a secret in place of the map that should contain it. */
function mayShow(schema: MapSchema, path: FieldPath): boolean {
  const at = schemaAt(schema, path);
  const inside = Object.values(at?.properties ?? {}) as MapSchema[];
  return ![at, ...inside].some((one) => one?.writeOnly === true);
}

function schemaAt(schema: MapSchema, path: FieldPath): MapSchema | undefined {
  return valueAt(
    schema,
    path.flatMap((key) => ['properties', key]),
  ) as MapSchema | undefined;
}

function valueAt(root: unknown, path: FieldPath): unknown {
  return path.reduce<unknown>(
    (value, key) => (typeof value === 'object' && value !== null ? Reflect.get(value, key) : undefined),
    root,
  );
}
