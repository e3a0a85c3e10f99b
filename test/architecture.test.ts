import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

// Which folder may import which is in biome.json.

const src = fileURLToPath(new URL('../src', import.meta.url));
const files = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter((path) => /\.tsx?$/.test(path));
const textOf = new Map(files.map((path) => [path, readFileSync(join(src, path), 'utf8')]));

it('only config/environment.ts looks at the environment', () => {
  const looking = files.filter((path) => /process\.env\b/.test(withoutComments(textOf.get(path)!)));
  expect(looking.toSorted()).toEqual(['config/environment.ts']);
});

it('everything is printed by one file, and what draws on a terminal takes control characters out by itself', () => {
  const printing =
    /process\.(?:stdout|stderr|_rawDebug)|\bconsole\b|node:tty|\bdestination\(|\b(?:writeSync|createWriteStream)\((?:fd|[012])|\/dev\/(?:tty|std)/;
  const found = files.filter((path) => printing.test(withoutComments(textOf.get(path)!)));
  expect(found).toEqual(['terminal/print.ts']);
  const drawing = files.filter((path) =>
    /import (?:type )?\{[^}]*\b(?:output|errorOutput|Output)\b[^}]*\} from '[^']*\/print\.ts'/.test(
      textOf.get(path)!,
    ),
  );
  expect(drawing.toSorted()).toEqual([
    'commands/init.ts',
    'commands/run-command.ts',
    'terminal/status-line.ts',
    'terminal/table.ts',
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
  expect(setting.toSorted()).toEqual(['cli.ts', 'exit.ts']);
});

it('exports by name', () => {
  expect(files.filter((path) => /^export default\b/m.test(textOf.get(path)!))).toEqual([]);
});

function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/^\s*\/\/.*$/gm, '');
}
