import { cpus, totalmem } from 'node:os';
import { print } from '../src/terminal/print.ts';
import { table } from '../src/terminal/table.ts';
import { benchArchive, volumes } from './archive.ts';
import { benchAtTheLimit } from './at-the-limit.ts';
import { benchDlt, benchEndToEnd } from './end-to-end.ts';
import { benchImport } from './import.ts';
import { benchLedger, sizes } from './ledger.ts';
import { benchLoader } from './loader.ts';
import { benchMemory } from './memory.ts';
import { benchQuestions } from './questions.ts';
import { benchScale } from './scale.ts';
import { type BenchServer, startServer } from './server.ts';
import { benchSharedRate } from './shared-rate.ts';
import { benchSmallWindows } from './small-windows.ts';
import type { Verdict } from './statistics.ts';

const usual = {
  loader: benchLoader,
  'end-to-end': benchEndToEnd,
  import: benchImport,
  'at-the-limit': benchAtTheLimit,
  'small-windows': benchSmallWindows,
  'shared-rate': benchSharedRate,
  memory: benchMemory,
  questions: benchQuestions,
  ledger: (server: BenchServer) => benchLedger(server, sizes.job),
};
const parts = {
  ...usual,
  // Only when they are asked for: the first wants Python and dlt, and the others up to hours and tens of gigabytes.
  dlt: benchDlt,
  archive: (server: BenchServer) => benchArchive(server, [volumes.small, volumes.whole]),
  'archive-small': (server: BenchServer) => benchArchive(server, [volumes.small]),
  'ledger-large': (server: BenchServer) => benchLedger(server, sizes.whole),
  scale: (server: BenchServer) => benchScale(server, 10_000_000),
  'scale-large': (server: BenchServer) => benchScale(server, 50_000_000),
};

const asked = process.argv.slice(2);
const unknown = asked.filter((name) => !Object.hasOwn(parts, name));
if (unknown.length > 0) {
  console.error(`There is no part ${unknown.join(', ')}; the parts are ${Object.keys(parts).join(', ')}.`);
  process.exit(2);
}

console.log(
  `${cpus().length} × ${cpus()[0]?.model.trim()}, ${(totalmem() / 2 ** 30).toFixed(0)} GiB, ${process.platform} ${process.arch}, Node.js ${process.version}`,
);
const verdicts: Verdict[] = [];
for (const [name, bench] of Object.entries(parts)) {
  if (!(asked.length > 0 ? asked : Object.keys(usual)).includes(name)) continue;
  await using server = await startServer();
  console.log(`\n${name}, with PostgreSQL ${server.version} on the same machine`);
  const startedAt = performance.now();
  verdicts.push(...(await bench(server)));
  console.log(`(${((performance.now() - startedAt) / 1000).toFixed(0)} s)`);
}
const rows = verdicts.map(({ goal, measured, met }) => [goal, measured, met ? 'met' : 'missed']);
print(`\n${table(['goal', 'measured', ''], rows)}\n`);
