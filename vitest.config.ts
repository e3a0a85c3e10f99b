import { defineConfig } from 'vitest/config';

// What takes minutes to say more about a promise that a quick test holds already: kills at random, long properties, images.
const soak = ['test/**/*.soak.test.ts'];
const tests = ['test/**/*.test.ts', 'packages/*/test/**/*.test.ts'];

// In the projects alone: one of the root would run as well.
const globalSetup = ['test/support/global-setup.ts'];

export default defineConfig({
  // The sandbox from its sources, without a build.
  ssr: { resolve: { conditions: ['gmsi-source', 'node', 'development|production'] } },
  test: {
    // Test files of one worker share its modules: loading them anew for each file took a tenth of the whole run.
    isolate: false,
    // With V8's usual 16 MB, collecting the garbage of pages took a tenth of a worker's time.
    execArgv: ['--max-semi-space-size=64'],
    // The next run need not compile what has not changed.
    experimental: { fsModuleCache: true },
    // For what may be two cores: one worker keeps four fifths of one busy, and each has to load and compile all anew.
    maxWorkers: 3,
    setupFiles: ['test/support/patience.ts', 'test/support/stored-times.ts'],
    // For what hangs. No test is to come near them, even if a machine starves the processes that it starts.
    testTimeout: 240_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 20_000 } },
    projects: [
      { extends: true, test: { name: 'test', include: tests, exclude: soak, globalSetup } },
      { extends: true, test: { name: 'soak', include: soak, globalSetup, testTimeout: 300_000 } },
    ],
  },
});
