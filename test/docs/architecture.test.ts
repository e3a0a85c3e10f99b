import { readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';

it('names files and functions, on the way of a page, that are there', async () => {
  const text = await readFile('docs/architecture.md', 'utf8');
  const table = /\n## The way of a page\n([\s\S]*?)\n## /.exec(text)![1]!;
  const rows = table.split('\n').filter((line) => line.startsWith('| ') && line.includes('`'));
  expect(rows).toHaveLength(10);
  for (const row of rows) {
    const [, , files = '', functions = ''] = row.split('|');
    const sources = await Promise.all(quoted(files).map((file) => readFile(`src/${file}`, 'utf8')));
    expect(quoted(functions)).toHaveLength(sources.length);
    for (const [index, name] of quoted(functions).entries())
      expect(sources[index]).toMatch(new RegExp(`function\\*? ${name}\\b`));
  }
});

function quoted(cell: string): string[] {
  return [...cell.matchAll(/`([^`]+)`/g)].map(([, name]) => name!);
}
