import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { parseAst } from 'vite';
import { describe, expect, test } from 'vitest';
import { describeAfter, type LoadSummary } from '../../src/commands/load-summary.ts';
import { typedOptions } from '../../src/config/typed.ts';
import { withoutMarks } from '../../src/terminal/style.ts';
import { docPages, fencesOf, sourcePaths } from '../docs/pages.ts';
import { commandNames, nextStepOf, parseTyped } from '../support/typed-commands.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

interface Node {
  readonly type: string;
  readonly [key: string]: unknown;
}

/** Stands for what an expression puts into a text. */
const value = '‹›';

/** Returns what a piece of code may print: its text, with each choice of words, and `value` for all else. */
function textsOf(node: Node): string[] {
  if (node.type === 'Literal' && typeof node.value === 'string') return [node.value];
  if (node.type === 'JSXText')
    return [(node.value as string).replaceAll('&lt;', '<').replaceAll('&gt;', '>')];
  if (node.type === 'ConditionalExpression')
    return [node.consequent, node.alternate].flatMap((part) => textsOf(part as Node));
  if (node.type === 'CallExpression' && nameOf(node.callee) === 'typedOptions') return [' --from 2026-01-01'];
  if (node.type !== 'TemplateLiteral') return [value];
  const inserted = (node.expressions as Node[]).map(textsOf);
  return (node.quasis as { value: { cooked: string } }[]).reduce<string[]>(
    (texts, quasi, at) =>
      texts.flatMap((text) => (inserted[at - 1] ?? ['']).map((more) => text + more + quasi.value.cooked)),
    [''],
  );
}

function nameOf(callee: unknown): unknown {
  return (callee as Node).name;
}

/** `command: 'gmsi …'`, a whole command. */
function isOfCure({ type, key, value: of }: Node): boolean {
  return type === 'Property' && nameOf(key) === 'command' && textsOf(of as Node)[0]!.startsWith('gmsi ');
}

/** These take whole commands, with an explanation after four spaces; the first two without `gmsi`. */
const whole: Readonly<Record<string, string>> = { asTyped: 'gmsi ', nextStep: 'gmsi ', examples: '' };

/** Returns every text in the sources in which a command may be, and whether it is nothing but a command. */
function printedTexts(): { where: string; text: string; isWhole: boolean }[] {
  const found: { where: string; text: string; isWhole: boolean }[] = [];
  for (const path of sourcePaths()) {
    const add = (part: Node, isWhole: boolean, prefix = '') => {
      for (const text of textsOf(part)) found.push({ where: path, text: prefix + text, isWhole });
    };
    const visit = (node: unknown): void => {
      if (Array.isArray(node)) for (const one of node) visit(one);
      if (typeof node !== 'object' || node === null || !('type' in node)) return;
      const { type, callee, arguments: given } = node as Node;
      if (isOfCure(node as Node)) {
        add((node as Node).value as Node, true);
        return;
      }
      const prefix = type === 'CallExpression' ? whole[nameOf(callee) as string] : undefined;
      if (prefix !== undefined) for (const part of given as Node[]) add(part, true, prefix);
      else if (['Literal', 'TemplateLiteral', 'JSXText'].includes(type)) add(node as Node, false);
      if (prefix === undefined && type !== 'ImportDeclaration')
        for (const part of Object.values(node)) visit(part);
    };
    visit(parseAst(readFileSync(join(root, path), 'utf8'), { lang: path.endsWith('x') ? 'tsx' : 'ts' }));
  }
  return found;
}

/** Words after the name of the program that begin no command: it is the subject or object of a sentence or statement. */
const prose =
  'adds again are cannot cascade command does ended for from job keeps login needs on owner requests sends to warehouse'.split(
    ' ',
  );

/** A command in a sentence: its name, and what looks like an argument. */
const inSentence = /(?<![\w./@-])gmsi ([a-z]+)((?: (?:--?[a-z][a-z-]*|"[^"]*"|'[^']*'|<[a-z]+>|‹›))*)/g;
/** Where a command with arguments ends: otherwise nobody can tell what to copy. */
const end = /^(?:$|\n|["'`]|[.,;:)](?!\w))/;

describe('every command that the program prints', () => {
  const texts = printedTexts();
  const jobs = [
    'desk',
    '<job>',
    ...['jobs', 'jobs/examples']
      .flatMap((folder) => readdirSync(join(root, folder)))
      .map((file) => file.replace(/\.yaml$/, '')),
  ];

  /** @throws if the program does not take it, or a word of a sentence would be taken for a job */
  async function check(typed: string): Promise<void> {
    // Options that a caller composes follow a word directly.
    const composed = typed.replaceAll(/(?<=\w)‹›/g, '').replaceAll(value, 'desk');
    const { name, args } = await parseTyped(composed.replaceAll('<day>', '2026-01-01'));
    if (!['plan', 'backfill', 'sync', 'status', 'check', 'work'].includes(name)) return;
    for (const job of args.flat()) expect(jobs, typed).toContain(job);
  }

  test('on a line of its own is one that the program takes', async () => {
    expect(texts.filter(({ isWhole }) => isWhole).length).toBeGreaterThan(60);
    for (const { text, isWhole } of texts) {
      // What a caller composes is checked where it is printed, and below.
      if (!isWhole || /^gmsi (?:‹›|$)/.test(text) || text === value) continue;
      const [typed] = text.split(/ {4}/);
      await check(typed!.replace(/^.*(?=gmsi )/, '').replace(/ >.*$|\)$/, ''));
    }
  });

  test('in a sentence is one that the program takes, and ends where the sentence shows it', async () => {
    for (const { where, text, isWhole } of texts) {
      if (isWhole) continue;
      for (const { 0: typed, 1: name, 2: args, index } of text.matchAll(inSentence)) {
        if (prose.includes(name!)) continue;
        expect(commandNames, `${where}: ${text}`).toContain(name);
        if (args === '') continue;
        expect(text.slice(index + typed.length), `after ${typed} in ${where}: ${text}`).toMatch(end);
        await check(typed);
      }
    }
  });
});

/** Checks, migrations, job files and what is deployed. In documents, a command is code. */
function otherTexts(): { where: string; text: string }[] {
  const folders = ['docs', 'jobs', 'migrations'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name)),
  );
  const single = ['.env.example', 'Dockerfile', 'docker-compose.yml'];
  return [...single, ...folders]
    .filter((path) => !/\.(png|md)$/.test(path) && statSync(join(root, path)).isFile())
    .map((where) => ({ where, text: readFileSync(join(root, where), 'utf8') }));
}

/** Returns the code of the documentation that runs the program. */
function shownCommands(): { where: string; typed: string }[] {
  return docPages().flatMap((page) => {
    const spans = page.text.replaceAll(/^```[\s\S]*?^```$/gm, '').matchAll(/`((?:npx )?gmsi [a-z][^`]*)`/g);
    const lines = fencesOf(page)
      .filter(({ language }) => language === 'sh')
      .flatMap(({ text }) => text.replaceAll(/\\\n\s*/g, ' ').split('\n'))
      .flatMap((line) => line.replace(/(?:^| )# .*/, '').match(/(?<![\w./@=-])(?:npx )?gmsi [a-z].*/) ?? []);
    return [...[...spans].map(([, code]) => code!), ...lines]
      .filter((code) => !/[[\]…]/.test(code))
      .map((code) => ({
        where: page.path,
        typed: code.replace(/ +(?:&&|\|\|?|[<>]).*/s, '').replaceAll('*', 'x'),
      }));
  });
}

describe('every command that people read elsewhere', () => {
  /** @throws if the program does not take it. It may be only named, without a value or an argument that it needs */
  async function check(typed: string, where: string): Promise<void> {
    // A shell leaves this backslash to psql.
    if (typed.includes('"\\copy ')) return;
    try {
      await parseTyped(
        typed.replaceAll(/(?<=--(?:from|to)) <[a-z]+>/g, ' 2026-01-01').replace('<shell>', 'bash'),
      );
    } catch (error) {
      const { code } = error as { code?: string };
      if (/optionMissingArgument|missingArgument|missingMandatoryOptionValue/.test(code ?? '')) return;
      throw new Error(`${where}: ${typed}`, { cause: error });
    }
  }

  test('in a sentence is one that the program takes', async () => {
    const found = otherTexts().flatMap(({ where, text }) =>
      [...text.matchAll(inSentence)].map(([typed, name]) => ({ where, typed, name: name! })),
    );
    const named = found.filter(({ name }) => !prose.includes(name));
    for (const folder of ['jobs/checks/', 'migrations/', 'docs/observability/', '.env.example'])
      expect(
        named.filter(({ where }) => where.startsWith(folder)),
        folder,
      ).not.toHaveLength(0);
    for (const { where, typed } of named) await check(typed, where);
  });

  test('as code is one that the program takes', async () => {
    const shown = shownCommands();
    expect(shown.length).toBeGreaterThan(100);
    for (const { where, typed } of shown) await check(typed, where);
  });
});

const words = fc
  .string({ unit: fc.constantFrom(...`ab 'Z-&"$*\`\\!|;<>()#~=%é`), minLength: 1 })
  .filter((text) => !text.startsWith('-'));

test('options are typed such that a shell and the program read the same', async () => {
  const options = fc.record(
    {
      from: fc.constant('2026-01-01'),
      country: fc.array(words, { minLength: 1, maxLength: 3 }),
      topic: fc.array(words, { minLength: 1, maxLength: 2 }),
      fullRefresh: fc.constant(true),
      retryRefused: fc.constant(true),
      acceptRetractions: fc.constant(true),
      maxRequests: fc.integer({ min: 1, max: 1000 }),
      reason: words,
    },
    { requiredKeys: [] },
  );
  await fc.assert(
    fc.asyncProperty(options, async (given) => {
      expect(await parseTyped(`gmsi backfill desk${typedOptions(given)}`)).toEqual({
        name: 'backfill',
        args: [['desk']],
        options: given,
      });
    }),
  );
});

describe('the next command after a load of a part', () => {
  const part = { from: '2026-01-01', country: ['US'] };
  const next = async (outcome: string) => {
    const summary = { job: { path: 'jobs/desk.yaml', part }, outcome } as unknown as LoadSummary;
    const said = withoutMarks(describeAfter([], [summary, { ...summary, outcome: 'done' }], 'sync'));
    return await parseTyped(nextStepOf(said)!);
  };

  test.for([
    ['done', 'check'],
    ['interrupted', 'sync'],
  ] as const)('%s', async ([outcome, name]) => {
    expect(await next(outcome)).toMatchObject({ name, args: [['desk']], options: part });
  });
});
