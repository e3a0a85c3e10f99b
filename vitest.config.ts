import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/support/global-setup.ts'],
    // The pipeline's tests run real processes against a real server on what may be two cores; they wait more than they work.
    maxWorkers: 3,
    setupFiles: ['test/support/patience.ts'],
    // For what hangs. No test is to come near them, even if a machine starves it for seconds.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // A shared CI machine can starve a process for longer than any test should wait. Retries show in the report.
    retry: process.env.CI ? 1 : 0,
    expect: { poll: { timeout: 20_000 } },
  },
});
