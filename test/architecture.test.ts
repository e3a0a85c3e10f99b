import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const src = fileURLToPath(new URL('../src', import.meta.url));

interface Import {
  /** Both relative to `src`, such as `pipeline/load.ts`. */
  readonly from: string;
  readonly to: string;
  readonly typesOnly: boolean;
}

const files = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('.ts'));
const textOf = new Map(files.map((path) => [path, readFileSync(join(src, path), 'utf8')]));
const imports = files.flatMap(importsOf);

/**
 * What the files of each folder may import besides each other. `type ` before a path: its types only. A folder that is
 * not listed may import whatever it likes.
 */
const allowed: Record<string, readonly string[]> = {
  // Knows nothing of the program: tests and other projects start it by itself.
  sandbox: [],
  // Pure: what there is in the service, what a job asks for, which days that makes.
  feeds: ['errors.ts', 'nearest.ts'],
  window: ['type job/job.ts'],
  job: ['errors.ts', 'nearest.ts', 'package.ts', 'secret.ts', 'type feeds/feed.ts'],
  api: ['errors.ts', 'say-if-slow.ts', 'type secret.ts', 'type job/job.ts'],
  // `window-state.ts` is the table of states that SQL and the pipeline share.
  warehouse: [
    ...['errors.ts', 'make-folder.ts', 'secret.ts', 'package.ts', 'type config.ts'],
    ...['type api/', 'type feeds/feed.ts', 'window/window-state.ts', 'window/request-range.ts'],
  ],
  pipeline: [
    ...['errors.ts', 'type log.ts', 'type secret.ts'],
    ...['api/', 'feeds/', 'job/', 'window/', 'warehouse/queries/', 'warehouse/errors.ts'],
    ...['warehouse/write-transaction.ts', 'type warehouse/connect.ts', 'type warehouse/tables/'],
  ],
  export: [
    ...[
      'errors.ts',
      'make-folder.ts',
      'package.ts',
      'warehouse/queries/export-rows.ts',
      'warehouse/errors.ts',
    ],
    ...['type warehouse/connect.ts', 'type warehouse/queries/run-check.ts'],
  ],
  // Finds what is wrong in the warehouse; all of its SQL is in jobs/checks.
  check: [
    ...['errors.ts', 'nearest.ts', 'package.ts', 'type feeds/feed.ts'],
    ...['warehouse/queries/run-check.ts', 'type warehouse/connect.ts'],
  ],
  // Decides when and where the pipeline's stages run; what a stage does is the pipeline's.
  worker: [
    ...['errors.ts', 'type log.ts', 'feeds/catalog.ts', 'api/errors.ts', 'type api/client.ts'],
    ...['type job/definition.ts', 'type job/job.ts', 'job/job-file-error.ts'],
    ...['pipeline/', 'warehouse/queries/', 'warehouse/errors.ts'],
    ...['type warehouse/connect.ts', 'type warehouse/tables/'],
  ],
  // Watches; nothing on the data's way knows that it is watched.
  telemetry: [
    ...[
      'errors.ts',
      'package.ts',
      'type config.ts',
      'type log.ts',
      'type secret.ts',
      'type worker/events.ts',
    ],
    ...[
      'api/outcome.ts',
      'type api/client.ts',
      'feeds/catalog.ts',
      'type job/job.ts',
      'job/job-file-error.ts',
    ],
    ...['pipeline/', 'window/', 'terminal/table.ts', 'type warehouse/connect.ts', 'warehouse/migrate.ts'],
    ...['warehouse/queries/'],
  ],
  terminal: ['type log.ts', 'type pipeline/open-load.ts'],
};

describe('imports go one way', () => {
  it.each(Object.entries(allowed))('%s imports only what it may', (folder, mayImport) => {
    const isAllowed = ({ to, typesOnly }: Import) =>
      mayImport.some((rule) => {
        const path = rule.replace(/^type /, '');
        return (path.endsWith('/') ? to.startsWith(path) : to === path) && (typesOnly || path === rule);
      });
    const leaving = imports.filter(
      ({ from, to }) => from.startsWith(`${folder}/`) && !to.startsWith(`${folder}/`),
    );
    expect(leaving.filter((one) => !isAllowed(one))).toEqual([]);
  });

  it('every rule is needed', () => {
    const unused = Object.entries(allowed).flatMap(([folder, rules]) =>
      rules
        .filter((rule) => {
          const path = rule.replace(/^type /, '');
          return !imports.some(
            ({ from, to }) =>
              from.startsWith(`${folder}/`) && (path.endsWith('/') ? to.startsWith(path) : to === path),
          );
        })
        .map((rule) => `${folder}: ${rule}`),
    );
    expect(unused).toEqual([]);
  });

  it('nothing imports the commands but cli.ts', () => {
    const outside = imports.filter(
      ({ from, to }) => to.startsWith('commands/') && !from.startsWith('commands/'),
    );
    expect(new Set(outside.map(({ from }) => from))).toEqual(new Set(['cli.ts']));
  });

  it('finds the imports', () => {
    expect(imports).toContainEqual({ from: 'cli.ts', to: 'errors.ts', typesOnly: false });
    expect(imports).toContainEqual({ from: 'pipeline/load.ts', to: 'job/job.ts', typesOnly: true });
  });
});

it('only config.ts looks at the environment', () => {
  const looking = files.filter((path) => /process\.env\b/.test(withoutComments(textOf.get(path)!)));
  expect(looking.toSorted()).toEqual(['config.ts']);
});

it('everything is printed by one file, and what draws on a terminal takes control characters out by itself', () => {
  const printing =
    /process\.(?:stdout|stderr|_rawDebug)|\bconsole\b|node:tty|\bdestination\(|\b(?:writeSync|createWriteStream)\((?:fd|[012])|\/dev\/(?:tty|std)/;
  const found = files.filter((path) => printing.test(withoutComments(textOf.get(path)!)));
  expect(found).toEqual(['terminal/print.ts']);
  const raw = imports.filter(({ to }) => to === 'terminal/print.ts').map(({ from }) => from);
  const drawing = raw.filter((path) => /\b(?:output|errorOutput|Output)\b/.test(textOf.get(path)!));
  expect(drawing.toSorted()).toEqual([
    ...[
      'cli.ts',
      'commands/psql.ts',
      'commands/run-command.ts',
      'commands/watch-status.ts',
      'log.ts',
      'terminal/redraw.ts',
      'terminal/status-line.ts',
    ],
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
  expect(setting.toSorted()).toEqual(['cli.ts', 'interrupt.ts']);
});

it('exports by name', () => {
  expect(files.filter((path) => /^export default\b/m.test(textOf.get(path)!))).toEqual([]);
});

it('keeps files under 300 lines', () => {
  expect(files.filter((path) => textOf.get(path)!.split('\n').length > 300)).toEqual([]);
});

function importsOf(from: string): Import[] {
  const text = withoutComments(textOf.get(from)!);
  const statements = text.matchAll(/^(?:import|export)\s(?:([^;'"]*?)\sfrom\s+)?['"]([^'"]+)['"]/gm);
  const dynamic = text.matchAll(/\bimport\((['"])([^'"]+)\1\)/g);
  return [
    ...[...statements].map(([, names = '', to]) => ({ to: to!, typesOnly: isTypesOnly(names) })),
    ...[...dynamic].map(([, , to]) => ({ to: to!, typesOnly: false })),
  ]
    .filter(({ to }) => to.startsWith('.'))
    .map(({ to, typesOnly }) => ({ from, to: relative(src, join(src, dirname(from), to)), typesOnly }));
}

/** `type A`, or `{ type A, type B }`: nothing that is there at run time. */
function isTypesOnly(names: string): boolean {
  if (names.startsWith('type ')) return true;
  const [, inBraces = ''] = /^\{([^}]*)\}$/.exec(names.trim()) ?? [];
  const each = inBraces.split(',').filter((name) => name.trim() !== '');
  return each.length > 0 && each.every((name) => name.trim().startsWith('type '));
}

function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/^\s*\/\/.*$/gm, '');
}
