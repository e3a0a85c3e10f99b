import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { settings } from '../../src/config/environment.ts';
import { jobFileJsonSchema } from '../../src/config/job-schema.ts';
import { buildProgram, commandNames } from '../../src/program.ts';
import { docPages, fencesOf, root } from './pages.ts';

const pages = docPages().filter(({ path }) => path !== 'docs/data-dictionary.md');
const reference = pages.find(({ path }) => path === 'docs/reference.md')!.text;
const program = await buildProgram(commandNames, async () => {});
const commands = program.commands.filter((command) => command.name() !== 'complete');

/** Returns the first cells of the rows of the first table below a heading of the reference, and those of its second column. */
function rowsBelow(heading: string): [first: string, second: string][] {
  const section = reference.split(`\n## ${heading}\n`)[1]!.split('\n## ')[0]!;
  const table = section.slice(section.indexOf('\n|---')).trim().split('\n\n')[0]!;
  return [...table.matchAll(/^\| (.*?) +\|(.*?)(?<!\\)\|/gm)].map(([, first = '', second = '']) => [
    first,
    second,
  ]);
}

function quoted(cell: string): string[] {
  return [...cell.matchAll(/`([^`]+)`/g)].map(([, text]) => text!.replaceAll('\\|', '|'));
}

/** The paths of the keys in a map, such as `schedule.sync`; the items of a list have the list's path. */
function pathsIn(value: unknown, path = ''): string[] {
  if (Array.isArray(value)) return value.flatMap((item) => pathsIn(item, path));
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => [
    `${path}${key}`,
    ...pathsIn(inner, `${path}${key}.`),
  ]);
}

/** The paths of the keys that a JSON Schema allows. */
function pathsOf(schema: object, path = ''): string[] {
  return Object.entries(schema).flatMap(([word, inner]) => {
    if (word === 'properties')
      return Object.entries(inner as Record<string, object>).flatMap(([key, value]) => [
        `${path}${key}`,
        ...pathsOf(value, `${path}${key}.`),
      ]);
    return ['items', 'anyOf', 'allOf', 'oneOf'].includes(word)
      ? [inner].flat().flatMap((one) => pathsOf(one as object, path))
      : [];
  });
}

test('the reference has a row for each command, and for no other', () => {
  const named = rowsBelow('Commands').map(([usage]) => /^`gmsi (\w+)/.exec(usage)![1]!);
  expect(named.toSorted()).toEqual(commands.map((command) => command.name()).toSorted());
});

test('the reference has every variable of the environment that is read, and no other', () => {
  const source = readFileSync(join(root, 'src/config/environment.ts'), 'utf8');
  const read = [...source.matchAll(/(?:\b(?:env|plain)\.|')([A-Z]+_[A-Z\d_]+)\b/g)].map(([, name]) => name!);
  expect(read).toContain('DATABASE_URL');
  const documented = rowsBelow('Environment').flatMap(([names]) => quoted(names));
  expect([...new Set([...read, ...settings])].filter((name) => !documented.includes(name))).toEqual([]);
  expect(documented.filter((name) => !new RegExp(`\\b${name}\\b`).test(source))).toEqual([]);
});

test('the documentation shows or names every key of a job file, and no other', () => {
  const schema = [...new Set(pathsOf(jobFileJsonSchema()))];
  expect(schema).toContain('service.parameters.topic');
  const shown = pages
    .flatMap(fencesOf)
    .filter(({ language, text }) => language === 'yaml' && !text.includes('scrape_configs'))
    .flatMap(({ text }) => pathsIn(parse(text)));
  const sections = schema.filter((path) => schema.some((other) => other.startsWith(`${path}.`)));
  const spans = pages.flatMap(({ text }) => quoted(text.replace(/^```[\s\S]*?^```$/gm, '')));
  const named = spans.filter((span) => schema.includes(span) || sections.includes(span.split('.')[0]!));
  const documented = new Set([...shown, ...named]);
  expect(schema.filter((path) => !documented.has(path))).toEqual([]);
  // Below these, users choose the keys.
  const open = /^(fields|parameters|body)\./;
  const paths = [...shown, ...named.filter((span) => /^[a-z_]+(\.[a-z_]+)+$/.test(span))];
  expect([...new Set(paths)].filter((path) => !schema.includes(path) && !open.test(path))).toEqual([]);
});
