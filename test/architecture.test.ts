import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { root, sourcePaths } from './docs/pages.ts';

// Which folder may import which is in biome.json.

const files = sourcePaths();
const textOf = new Map(files.map((path) => [path, readFileSync(join(root, path), 'utf8')]));

it('only config/environment.ts looks at the environment', () => {
  const looking = files.filter((path) => /process\.env\b/.test(withoutComments(textOf.get(path)!)));
  expect(looking.toSorted()).toEqual(['src/config/environment.ts']);
});

it('everything is printed by one file, and what draws on a terminal takes control characters out by itself', () => {
  const printing =
    /process\.(?:stdout|stderr|_rawDebug)|\bconsole\b|node:tty|\bdestination\(|\b(?:writeSync|createWriteStream)\((?:fd|[012])|\/dev\/(?:tty|std)/;
  const found = files.filter((path) => printing.test(withoutComments(textOf.get(path)!)));
  expect(found).toEqual(['src/terminal/print.ts']);
  const drawing = files.filter((path) =>
    /import (?:type )?\{[^}]*\b(?:output|errorOutput|Output)\b[^}]*\} from '[^']*\/print\.ts'/.test(
      textOf.get(path)!,
    ),
  );
  expect(drawing.toSorted()).toEqual([
    'src/cli.ts',
    'src/commands/init.ts',
    'src/terminal/status-line.ts',
    'src/terminal/table.ts',
  ]);
});

it('every program is started with an environment of its own, not with this one', () => {
  const starting = [...textOf].flatMap(([path, text]) =>
    [...text.matchAll(/(?<!\.)\b(?:spawn|spawnSync|exec|execSync|execFile|execFileSync|fork)\(/g)].map(
      ({ index }) => `${path}: ${text.slice(index, text.indexOf(';', index))}`,
    ),
  );
  expect(starting.length).toBeGreaterThan(3);
  expect(starting.filter((call) => !/\benv\b|, where\)/.test(call))).toEqual([]);
});

it('only cli.ts sets the exit code, and only the second signal ends the process', () => {
  const setting = files.filter((path) => /process\.exitCode|process\.exit\(/.test(textOf.get(path)!));
  expect(setting.toSorted()).toEqual(['src/cli.ts', 'src/exit.ts']);
});

it('exports by name', () => {
  expect(files.filter((path) => /^export default\b/m.test(textOf.get(path)!))).toEqual([]);
});

function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/^\s*\/\/.*$/gm, '');
}
