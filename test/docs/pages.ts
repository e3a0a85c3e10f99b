import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The repository's root, with a slash at its end. */
export const root = fileURLToPath(new URL('../..', import.meta.url));

/** A page of the documentation. */
export interface DocPage {
  /** Relative to the root, such as `docs/operating.md`. */
  readonly path: string;
  readonly text: string;
}

/** A fenced block, such as ```` ```sql loader ````. */
export interface Fence {
  readonly language: string;
  /** The words after the language; they tell a test how to treat the block, and GitHub ignores them. */
  readonly marks: readonly string[];
  readonly text: string;
  /** Where it begins, such as `README.md:12`. */
  readonly place: string;
}

/** The paths of all sources, of the program and of the packages. */
export function sourcePaths(): string[] {
  return ['src', 'packages/page/src', 'packages/sandbox/src'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((path) => /\.tsx?$/.test(path))
      .map((path) => join(folder, path)),
  );
}

/** The README and its like at the root, and everything in docs/. */
export function docPages(): DocPage[] {
  const names = ['.', 'docs', 'docs/observability', 'packages/page', 'packages/sandbox'].flatMap((folder) =>
    readdirSync(join(root, folder))
      .filter((name) => name.endsWith('.md'))
      .map((name) => join(folder, name)),
  );
  return names.map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }));
}

export function fencesOf({ path, text }: DocPage): Fence[] {
  return [...text.matchAll(/^```(\w+)(.*)\n([\s\S]*?)^```$/gm)].map((match) => {
    const [, language = '', marks = '', body = ''] = match;
    const line = text.slice(0, match.index).split('\n').length;
    return { language, marks: marks.split(' ').filter(Boolean), text: body, place: `${path}:${line}` };
  });
}

/** The one block of SQL that carries a mark. */
export function sqlMarked(mark: string): string {
  const found = docPages()
    .flatMap(fencesOf)
    .filter(({ language, marks }) => language === 'sql' && marks.includes(mark));
  if (found.length !== 1) throw new Error(`${found.length} blocks are marked "sql ${mark}", expected one`);
  return found[0]!.text;
}
