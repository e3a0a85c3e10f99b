// Builds dist/: the program and the sandbox by tsc, file by file, and the page by Vite, which bundles it for browsers.
import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, rmSync, writeFileSync } from 'node:fs';
import { build } from 'vite';

rmSync('dist', { recursive: true, force: true });
for (const project of ['.', 'packages/sandbox'])
  execFileSync(
    process.execPath,
    ['node_modules/typescript/bin/tsc', '--project', `${project}/tsconfig.build.json`],
    { stdio: 'inherit' },
  );
/** Returns what git prints; nothing without git, as in an image, or in somebody else's repository. */
const git = (...args) => spawnSync('git', args, { encoding: 'utf8' }).stdout?.trim() ?? '';
const commit = git('ls-files', 'build.mjs') && git('describe', '--always', '--dirty', '--exclude=*');
// Read by src/package.ts.
if (commit) writeFileSync('dist/commit', commit);
// npx does so once, when it first links to the program, and not after it is built again.
chmodSync('dist/cli.js', 0o755);
// Not what the tests' own environment says: with it, the page would have the paths of its sources.
process.env.NODE_ENV = 'production';
await build({ root: 'packages/page', logLevel: 'warn' });
