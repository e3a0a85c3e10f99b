import { access, readdir, readFile } from 'node:fs/promises';
import { dirname, join, normalize } from 'node:path';
import { expect, it } from 'vitest';

const text = await readFile('docs/architecture.md', 'utf8');

/** `commands/run.ts` is of `commands/`. */
const roomOf = (file: string) => /^[^/]+\//.exec(file)?.[0] ?? file;

it('lists the rooms in an order in which imports only point downwards', async () => {
  const levels = new Map<string, number>();
  for (const [level, line] of sectionOf('The tree').split('\n').entries())
    for (const [room] of /^ {2}((?:[\w-]+(?:\/|\.ts) {2,})+)/.exec(line)?.[0].matchAll(/\S+/g) ?? [])
      levels.set(room, level);
  const lowest = 1000;
  const levelOf = (file: string) => levels.get(roomOf(file)) ?? lowest;

  const upwards: string[] = [];
  for (const file of await readdir('src', { recursive: true })) {
    if (!/\.tsx?$/.test(file)) continue;
    if (file.includes('/')) expect(levels.has(roomOf(file)), `the tree lists ${roomOf(file)}`).toBe(true);
    const source = await readFile(join('src', file), 'utf8');
    for (const [, path = ''] of source.matchAll(/(?:from|import\()\s*'(\.[^']+)'/g)) {
      const imported = normalize(join(dirname(file), path));
      if (roomOf(imported) === roomOf(file)) continue;
      if (levelOf(imported) < levelOf(file)) upwards.push(`${file} imports ${imported}`);
    }
    if (file.includes('/') && !file.startsWith('commands/')) expect(source, file).not.toContain("'#sandbox'");
  }
  expect(upwards).toEqual([]);
});

it.each(['page', 'sandbox'])(
  'imports nothing from elsewhere into packages/%s, but by one file of the page',
  async (name) => {
    const folder = join('packages', name);
    const outside: string[] = [];
    for (const file of await readdir(folder, { recursive: true })) {
      if (!/\.tsx?$/.test(file)) continue;
      const source = await readFile(join(folder, file), 'utf8');
      for (const [, path = ''] of source.matchAll(/(?:from|import\()\s*'(\.[^']+|#.+)'/g))
        if (path.startsWith('#') || normalize(join(dirname(file), path)).startsWith('..')) outside.push(file);
    }
    expect([...new Set(outside)]).toEqual(name === 'page' ? ['src/loader.ts'] : []);
  },
);

it('names files and functions, on the way of a page, that are there', async () => {
  const rows = rowsOf('The way of a page');
  expect(rows).toHaveLength(10);
  for (const [, files = '', functions = ''] of rows) {
    const sources = await Promise.all(quoted(files).map((file) => readFile(`src/${file}`, 'utf8')));
    expect(quoted(functions)).toHaveLength(sources.length);
    for (const [index, name] of quoted(functions).entries())
      expect(sources[index]).toMatch(new RegExp(`function\\*? ${name}\\b`));
  }
});

it('names, for each promise, code that keeps it and tests that hold it', async () => {
  const rows = rowsOf('The promises');
  expect(rows).toHaveLength(8);
  for (const [promise = '', keptBy = '', testedBy = ''] of rows) {
    const [code, tests] = [quoted(keptBy), quoted(testedBy)];
    for (const found of [code, tests]) expect(found, promise).not.toHaveLength(0);
    for (const path of code) await access(path.startsWith('migrations/') ? path : join('src', path));
    for (const path of tests) {
      expect(path).toMatch(/\.test\.ts$/);
      expect(await readFile(join('test', path), 'utf8')).toMatch(/^ *(?:it|test)\b/m);
    }
  }
});

/** The cells of each row of a section's table, without its head. */
function rowsOf(heading: string): string[][] {
  const lines = sectionOf(heading).split('\n');
  return lines
    .slice(lines.findIndex((line) => line.startsWith('|---')) + 1)
    .filter((line) => line.startsWith('|'))
    .map((line) => line.split('|').slice(1, -1));
}

function sectionOf(heading: string): string {
  return text.split(`\n## ${heading}\n`)[1]!.split('\n## ')[0]!;
}

function quoted(cell: string): string[] {
  return [...cell.matchAll(/`([^`]+)`/g)].map(([, name]) => name!);
}
