import { openWarehouse, type Session } from '../compose.ts';
import { ConfigError } from '../errors.ts';
import { exitCodes } from '../exit.ts';
import { print, printJson } from '../terminal/print.ts';
import { showSteps } from '../terminal/progress.ts';
import { count, table } from '../terminal/table.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import type { Day } from '../warehouse/database.ts';
import { rollUp, rollupExtents, seriesToRollUp } from '../warehouse/tables/rollups.ts';

/** `gmsi rollup [--rebuild]`: shows the rollups, or computes them again. */
export async function rollupCommand(
  session: Session,
  { rebuild = false, from, to }: { readonly rebuild?: boolean; readonly from?: string; readonly to?: string },
): Promise<number> {
  if (!rebuild && (from ?? to) !== undefined) {
    throw new ConfigError('--from and --to need --rebuild.', { hint: 'Add --rebuild.' });
  }
  if (from !== undefined && to !== undefined && from > to) {
    throw new ConfigError(`--from ${from} is after --to ${to}.`, { hint: 'Swap them.' });
  }
  await using warehouse = await openWarehouse(session);
  const rebuilt = rebuild ? await rebuildShown(session, warehouse.db, { from, to }) : undefined;
  const rollups = await rollupExtents(warehouse.db);
  if (session.json) {
    printJson({ ...(rebuilt && { rebuilt }), rollups });
  } else {
    const rows = rollups.map(({ rollup, rows, first_day, last_day }) => [rollup, rows, first_day, last_day]);
    print(
      `${rebuilt ? `${describe(rebuilt)}\n\n` : ''}${table(['rollup', 'rows', 'first day', 'last day'], rows)}\n`,
    );
  }
  return rebuilt?.interrupted ? exitCodes.interrupted : exitCodes.done;
}

async function rebuildShown({ log, progress, stop }: Session, db: Warehouse, days: Days) {
  using steps = showSteps(log, progress);
  return await rebuildRollups(db, days, stop, (done, all) => steps.show(`rollup  ${done}/${all} series`));
}

interface Days {
  readonly from: Day | undefined;
  readonly to: Day | undefined;
}

type Rebuilt = Awaited<ReturnType<typeof rebuildRollups>>;

function describe({ series, corrected, interrupted }: Rebuilt): string {
  const found = corrected === 0 ? 'all were right' : `${count(corrected, 'row')} of the rollups were wrong`;
  return `${count(series, 'series', 'series')} computed again: ${found}.${interrupted ? ' Interrupted; run it again for the rest.' : ''}`;
}

/**
 * Computes the rollups of some days again from the headlines (an open end means no bound). Each series has its own transaction,
 * so that a load waits for one series at most.
 * @returns the number of series, and of rows that were wrong
 */
export async function rebuildRollups(
  given: Warehouse,
  days: Days,
  stop: AbortSignal,
  onSeries: (done: number, all: number) => void,
) {
  const warehouse = given.patient({ signal: stop });
  const all = await seriesToRollUp(warehouse, days);
  let series = 0;
  let corrected = 0;
  for (const one of all) {
    if (stop.aborted) break;
    corrected += await rollUp(warehouse, one);
    onSeries(++series, all.length);
  }
  return { series, corrected, interrupted: series < all.length };
}
