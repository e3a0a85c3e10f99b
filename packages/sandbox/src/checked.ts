import { distance } from 'fastest-levenshtein';
import type { z } from 'zod';
import { type Described, described, groupIn, valuesOf } from './described.ts';

/**
 * Returns a function that checks what is given and fills in the defaults. It throws a RangeError that names the option, what was
 * expected, and the nearest name. The compiler writes its types out, so that the types in the package need no zod.
 */
export function checked<T extends z.ZodType>(schema: T) {
  return (given: z.input<T>): z.output<T> => {
    const { data, error } = schema.safeParse(given);
    if (error)
      throw new RangeError(describeIssue(error.issues[0]!, given, described(schema)), { cause: error });
    return data as z.output<T>;
  };
}

function describeIssue(issue: z.core.$ZodIssue, given: unknown, schema: Described): string {
  const { path } = issue;
  let expected = schema;
  let found = given;
  for (const key of path) {
    expected = partOf(expected, found, key);
    found = Reflect.get(Object(found), key);
  }
  if (issue.code === 'unrecognized_keys') {
    const wrong = issue.keys[0]!;
    const { properties, propertyNames } = variantOf(expected, found);
    const known = Object.keys(properties ?? {}).concat((propertyNames?.enum ?? []).map(String));
    return `unknown option ${nameOf([...path, wrong])}${nearestOf(wrong, known) ?? `; expected one of ${known.join(', ')}`}`;
  }
  const shown = found === undefined ? 'missing' : (JSON.stringify(found) ?? typeof found).slice(0, 60);
  const names: readonly unknown[] = (issue.code === 'custom' && issue.params?.known) || (expected.enum ?? []);
  const known = names.filter((one) => typeof one === 'string');
  const meant = typeof found === 'string' ? nearestOf(found, known) : undefined;
  return `${nameOf(path)} is ${shown}${meant ?? ''}; expected ${issue.code === 'custom' ? issue.message : valuesOf(expected)}`;
}

/** `faults.script[0].kind` */
function nameOf(path: readonly PropertyKey[]): string {
  const keys = path.map((key) => (typeof key === 'number' ? `[${key}]` : `.${String(key)}`));
  return keys.join('').replace(/^\./, '') || 'options';
}

/** Returns the part of a schema for a key of a value. */
function partOf(schema: Described, value: unknown, key: PropertyKey): Described {
  if (typeof key === 'number') return schema.items ?? {};
  if (schema.oneOf !== undefined && key === 'kind')
    return { enum: schema.oneOf.map(({ properties }) => properties?.kind?.const) };
  const { properties, additionalProperties } = variantOf(schema, value);
  return properties?.[String(key)] ?? (additionalProperties || {});
}

/** Returns the schema of a group, of several the one of the value's kind. */
function variantOf(schema: Described, value: unknown): Described {
  const kind = Reflect.get(Object(value), 'kind');
  return (
    schema.oneOf?.find(({ properties }) => properties?.kind?.const === kind) ?? groupIn(schema) ?? schema
  );
}

function nearestOf(found: string, known: readonly string[]): string | undefined {
  const edits = (name: string) => distance(found.toLowerCase(), name.toLowerCase());
  const [first] = known.toSorted((a, b) => edits(a) - edits(b));
  return first !== undefined && edits(first) <= first.length / 2 ? ` (did you mean ${first}?)` : undefined;
}
