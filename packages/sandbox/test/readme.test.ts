import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { scriptedFault } from '../src/faults/fault-schema.ts';
import { optionSchema } from '../src/option-schema.ts';

const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8');

interface Described {
  readonly description?: string;
  readonly default?: unknown;
  readonly properties?: Readonly<Record<string, Described>>;
  readonly anyOf?: readonly Described[];
}

/** Returns name, default and description of each option that JSON can carry, those of groups as `records.times`. */
function optionsOf({ properties = {} }: Described, prefix = ''): string[][] {
  return Object.entries(properties).flatMap(([key, option]) => {
    if (option.description === undefined) return [];
    const group = [option, ...(option.anyOf ?? [])].find((one) => one.properties);
    const byDefault = group || option.default === undefined ? '' : `\`${JSON.stringify(option.default)}\``;
    const own = [`\`${prefix}${key}\``, byDefault, option.description];
    return group ? [own, ...optionsOf(group, `${prefix}${key}.`)] : [own];
  });
}

function described(schema: z.ZodType): Described {
  return z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as Described;
}

function rowsBelow(heading: string): string[][] {
  const section = readme.split(`\n## ${heading}\n`)[1]!.split('\n## ')[0]!;
  return [...section.matchAll(/^\| (`.*) \|$/gm)].map(([, row]) =>
    row!.split('|').map((cell) => cell.trim()),
  );
}

test('the README lists each option with its default, in the words of the code', () => {
  const rows = rowsBelow('Options').map(([name, , byDefault, about]) => [name, byDefault, about]);
  expect(rows).toEqual(optionsOf(described(optionSchema)));
});

test('the README lists each fault with its fields, in the words of the code', () => {
  const rows = rowsBelow('Faults').map(([kind, fields, about]) => [
    kind,
    [...fields!.matchAll(/(?:^|; )(\w+):/g)].map(([, name]) => name),
    about,
  ]);
  const faults = scriptedFault.options.map((fault) => [
    `\`${fault.shape.kind.value}\``,
    Object.keys(fault.shape).filter((name) => !['kind', 'times', 'match'].includes(name)),
    fault.description,
  ]);
  expect(rows).toEqual(faults);
});
