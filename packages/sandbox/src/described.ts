import { z } from 'zod';

/** The part of JSON Schema that options use. */
export interface Described {
  readonly description?: string;
  readonly default?: unknown;
  readonly type?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
  readonly format?: string;
  readonly items?: Described;
  readonly anyOf?: readonly Described[];
  readonly oneOf?: readonly Described[];
  readonly properties?: Readonly<Record<string, Described>>;
  readonly propertyNames?: Described;
  readonly additionalProperties?: Described | false;
}

/** Returns a schema of options as JSON Schema. What JSON cannot carry is empty in it. */
export function described(schema: z.ZodType): Described {
  return z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as Described;
}

/** Name, values, default as JSON (empty without one), and what it does. */
type Row = [name: string, values: string, byDefault: string, about: string];

/** Returns the options of a group, and those of the groups in it as `records.times`. */
export function rowsOf(group: Described, prefix = ''): Row[] {
  return Object.entries(group.properties ?? {}).flatMap(([key, option]): Row[] => {
    const name = `${prefix}${key}`;
    if (option.description === undefined) return [];
    const inner = groupIn(option);
    const byDefault = inner || option.default === undefined ? '' : JSON.stringify(option.default);
    return [
      [name, valuesOf(option), byDefault, option.description],
      ...(inner === undefined ? [] : rowsOf(inner, `${name}.`)),
    ];
  });
}

/** Returns the group of options that an option is, if it is one; it may be `null` instead. */
export function groupIn(option: Described): Described | undefined {
  return [option, ...(option.anyOf ?? [])].find(({ properties }) => properties !== undefined);
}

/** Returns in words which values an option takes: `a number from 0 to 1`. */
export function valuesOf(option: Described): string {
  const { anyOf, oneOf, items, propertyNames } = option;
  if (anyOf !== undefined) return either(anyOf.map(valuesOf));
  if (oneOf !== undefined) return 'objects';
  if (option.enum !== undefined) return either(option.enum.map((one) => JSON.stringify(one)));
  if (option.const !== undefined) return JSON.stringify(option.const);
  switch (option.type) {
    case 'null':
      return 'null';
    case 'boolean':
      return 'true or false';
    case 'string':
      return option.format === 'date' ? 'a day, such as "2025-01-01"' : 'a text';
    case 'number':
    case 'integer':
      return `${option.type === 'integer' ? 'a whole number' : 'a number'}${rangeOf(option)}`;
    case 'array':
      return `a list of ${items?.enum ? valuesOf(items) : (plurals[items?.type ?? ''] ?? 'objects')}`;
    case 'object':
      return propertyNames === undefined
        ? 'an object'
        : `an object: for each name, ${valuesOf(option.additionalProperties || {})}`;
    default:
      return 'any value';
  }
}

const plurals: Readonly<Record<string, string>> = { string: 'texts' };

function rangeOf({ minimum, maximum = Number.MAX_SAFE_INTEGER, exclusiveMinimum }: Described): string {
  if (exclusiveMinimum !== undefined) return ` above ${exclusiveMinimum}`;
  if (minimum === undefined) return '';
  return maximum === Number.MAX_SAFE_INTEGER ? ` from ${minimum}` : ` from ${minimum} to ${maximum}`;
}

function either(values: readonly string[]): string {
  const last = values.at(-1)!;
  return `${values.slice(0, -1).join(', ')}${last === 'null' ? ',' : ''} or ${last}`;
}
