import { execFile } from 'node:child_process';
import { accessSync, constants, existsSync, readdirSync, readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { root, sourcePaths } from './pages.ts';

let packed: Set<string>;

beforeAll(async () => {
  // `prepare` has run: the tests build dist/ before they begin.
  const { stdout } = await promisify(execFile)('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
    cwd: root,
    maxBuffer: 1e8,
  });
  const [{ files }] = JSON.parse(stdout);
  packed = new Set(files.map(({ path }: { path: string }) => path));
}, 60_000);

/** What the program's texts name, without its comments. */
function namedInSource(pattern: RegExp): string[] {
  const texts = sourcePaths().map((path) =>
    readFileSync(`${root}${path}`, 'utf8').replace(/^\s*(\/\/|\/?\*).*$/gm, ''),
  );
  return [...new Set(texts.flatMap((text) => text.match(pattern) ?? []))];
}

describe('the package', () => {
  it('holds the program, the migrations, the sandbox for other projects, and the jobs', () => {
    for (const path of ['dist/cli.js', 'dist/sandbox/index.js', 'dist/sandbox/index.d.ts', 'README.md'])
      expect(packed).toContain(path);
    for (const folder of ['migrations', 'migrations/repeatable'])
      for (const name of readdirSync(`${root}${folder}`).filter((name) => name.endsWith('.sql')))
        expect(packed).toContain(`${folder}/${name}`);
    for (const folder of ['jobs', 'jobs/checks', 'jobs/examples'])
      for (const { name } of readdirSync(`${root}${folder}`, { withFileTypes: true }).filter((it) =>
        it.isFile(),
      ))
        expect(packed).toContain(`${folder}/${name}`);
  });

  it("has types of the sandbox's options that need no other package", () => {
    const [options = '', faults = ''] = ['options', 'faults/fault'].map((name) =>
      readFileSync(`${root}dist/sandbox/${name}.d.ts`, 'utf8'),
    );
    expect(options + faults).not.toMatch(/(from |import\()['"](?!\.)/);
    expect(options).toContain('perSecond?: number');
    expect(faults).toContain('ms?: number');
  });

  it.skipIf(!existsSync(`${root}.git`))('names the commit that it was built from', async () => {
    const { stdout } = await promisify(execFile)(process.execPath, [`${root}dist/cli.js`, '--version']);
    expect(stdout).toMatch(/^\d+\.\d+\.\d+ \([0-9a-f]{7,}(-dirty)?\)\n$/);
  });

  it('can be run by the link that npx made before the program was built again', () => {
    accessSync(`${root}dist/cli.js`, constants.X_OK);
  });

  it('has the licences of what is bundled into the page', () => {
    expect(packed).toContain('dist/page/LICENSES.md');
    const licences = readFileSync(`${root}dist/page/LICENSES.md`, 'utf8');
    for (const name of ['preact', 'uplot']) expect(licences).toMatch(new RegExp(`^## ${name} - `, 'm'));
  });

  it('has a list of what it installs, in which everything has a licence', async () => {
    const { stdout } = await promisify(execFile)('npm', ['sbom', '--omit=dev', '--sbom-format=cyclonedx'], {
      cwd: root,
      maxBuffer: 1e8,
    });
    const components: { name: string; licenses?: unknown[] }[] = JSON.parse(stdout).components;
    expect(components.length).toBeGreaterThan(50);
    expect(components.filter(({ licenses = [] }) => licenses.length === 0)).toEqual([]);
  });

  it('holds every page that a message points to', () => {
    const named = namedInSource(/\b(?:docs|packages)\/[\w./-]*\w\.\w+/g);
    expect(named.length).toBeGreaterThan(2);
    for (const path of named) expect(packed, path).toContain(path);
  });

  it('names its pages by their whole path: it may be installed elsewhere', () => {
    expect(namedInSource(/(?<!inPackage\(')\b(?:docs|packages)\/[\w./-]*\w\.\w+/g)).toEqual([]);
  });

  it('names no job file by a path that an empty folder does not have', () => {
    expect(namedInSource(/\bgmsi [a-z]+ jobs\/[\w-]+\.yaml/g)).toEqual([]);
  });

  it('names no npm script, which only a checkout has', () => {
    expect(namedInSource(/\bnpm (start|ci|test|run \w+)/g)).toEqual([]);
  });

  it('holds what its pages link to, but for what only a checkout has', () => {
    const onlyInCheckout =
      /^(CONTRIBUTING\.md|src\/|test\/|bench\/|Dockerfile|docker-compose\.yml|\.github\/|docs\/pictures\/)/;
    const pages = [...packed].filter((path) => path.endsWith('.md'));
    const broken = pages.flatMap((page) =>
      [...readFileSync(`${root}${page}`, 'utf8').matchAll(/\]\((?!https?:|#|mailto:)([^)#\s]+)/g)]
        .map(([, link]) => new URL(link!, `file:///${page}`).pathname.slice(1).replace(/\/$/, ''))
        .filter((path) => !onlyInCheckout.test(`${path}`) && !onlyInCheckout.test(`${path}/`))
        .filter((path) => !packed.has(path) && ![...packed].some((file) => file.startsWith(`${path}/`)))
        .map((path) => `${page} → ${path}`),
    );
    expect(broken).toEqual([]);
  });

  it('asks of nobody a newer Node.js than its own engines do', () => {
    const { packages } = JSON.parse(readFileSync(`${root}package-lock.json`, 'utf8')) as {
      packages: Record<string, { dev?: boolean; engines?: { node?: string } | string[] }>;
    };
    const demanding = Object.entries(packages).filter(([path, { dev, engines }]) => {
      const range = Array.isArray(engines) ? '' : (engines?.node ?? '');
      return path !== '' && !dev && /^>= ?(2[1-9]|[3-9]\d)/.test(range);
    });
    expect(demanding.map(([path]) => path)).toEqual([]);
    const { overrides } = JSON.parse(readFileSync(`${root}package.json`, 'utf8'));
    // They hold in a checkout only, not if the package is a dependency.
    expect(overrides).toBeUndefined();
  });
});
