import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/support/global-setup.ts'],
    // The pipeline's tests run real processes against a real server on what may be two cores; they wait more than they work.
    maxWorkers: 3,
    testTimeout: 30_000,
    // A shared CI machine can starve a process for seconds; what fails twice is broken. Retries show in the report.
    retry: process.env.CI ? 1 : 0,
    hookTimeout: 60_000,
  },
});
