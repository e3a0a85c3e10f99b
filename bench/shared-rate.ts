import { fileURLToPath } from 'node:url';
import { startSandbox } from '#sandbox';
import { run } from './processes.ts';
import type { BenchServer } from './server.ts';
import type { Verdict } from './statistics.ts';

const asker = fileURLToPath(new URL('asker.ts', import.meta.url));
const perSecond = 25;
const burst = 50;
const seconds = 20;
/** In which the processes start, and use up the burst. */
const warmUp = 5;

/** What processes on one key make of the rate that it has: all of it, and never more. */
export async function benchSharedRate(server: BenchServer): Promise<Verdict[]> {
  return [...(await measure(server, 1)), ...(await measure(server, 4))];
}

async function measure(server: BenchServer, processes: number): Promise<Verdict[]> {
  await using sandbox = await startSandbox({ keys: ['bench-key'], limits: { perSecond, burst } });
  const arrivals: number[] = [];
  const note = () => {
    arrivals.push(performance.now() / 1000);
    return false;
  };
  sandbox.script([{ kind: 'latency', match: note }]);
  const args = ['--import', 'tsx', asker, sandbox.url, await server.aWarehouse(), `${warmUp + seconds}`];
  const ended = await Promise.all(Array.from({ length: processes }, () => run(args, {})));
  if (ended.some(({ code }) => code !== 0)) throw new Error('an asker failed');

  const how = `${processes} ${processes === 1 ? 'process' : 'processes'}`;
  const stats = sandbox.stats();
  const { '429': refused = 0 } = stats.byStatus;
  const begin = arrivals[0]! + warmUp;
  // Not to their very end: one process ends before the other.
  const measured = seconds - 2;
  const sustained = arrivals.filter((at) => at > begin && at <= begin + measured).length / measured;
  console.log(
    `${how}: ${sustained.toFixed(2)} requests a second, at most ${stats.mostInOneSecond} in any second,`,
    `${refused} of ${stats.requests} refused.`,
  );
  return [
    { goal: `${how}: no answer with 429`, measured: `${refused}`, met: refused === 0 },
    {
      goal: `${how}: at least 95% of ${perSecond} a second`,
      measured: `${((sustained / perSecond) * 100).toFixed(1)}%`,
      met: sustained >= 0.95 * perSecond,
    },
  ];
}
