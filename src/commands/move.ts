import { openWarehouse, openWarehouseAt, type Session } from '../compose.ts';
import { printResult } from '../terminal/print.ts';
import { showSteps } from '../terminal/progress.ts';
import { count, duration, facts, nextStep, number, table } from '../terminal/table.ts';
import { type Moved, type MoveStep, moveWarehouse, releaseMoved } from '../warehouse/move.ts';

/** `gmsi migrate --to <address>`: moves everything in the warehouse in use to another, empty database; sends no request. */
export async function move(session: Session, to: string): Promise<undefined> {
  const address = session.config.readAddress('--to', to);
  await using old = await openWarehouse(session);
  await using fresh = await openWarehouseAt(session, address, '--to', 'as-is');
  const startedAt = performance.now();
  const { config, log, progress, stop } = session;
  using steps = showSteps(log, progress);
  const moved = await moveWarehouse({
    ...{ from: old, to: fresh, log, stop, leaseSeconds: config.leaseSeconds },
    onStep: (step) => steps.show(() => line(step)),
  });
  steps[Symbol.dispose]();
  const seconds = (performance.now() - startedAt) / 1000;
  const about = { from: old.description, to: fresh.description };
  const { snapshotAt: complete_to, tables } = moved;
  const document = { ...about, complete_to, seconds: Math.round(seconds), tables };
  printResult(session, document, () => describe(moved, about, seconds));
}

/** `gmsi migrate --release`: takes the mark of a move off the warehouse in use. */
export async function release(session: Session): Promise<undefined> {
  await using warehouse = await openWarehouse(session);
  const other = (await releaseMoved(warehouse.db)) ?? null;
  const say = other === null ? 'It was not moved' : `It was moved to ${other}, and takes loads again`;
  printResult(session, { other }, () => `${warehouse.description}: ${say}.\n`);
}

/** `move  copy 34%  gmsi.headlines_2025_03  412.0 MB` */
function line({ does, share, name, bytes }: MoveStep): string {
  const sent = bytes > 0 ? `${(bytes / 1e6).toFixed(1)} MB` : '';
  return ['move', `${does} ${Math.floor(100 * share)}%`, name, sent].filter((text) => text !== '').join('  ');
}

function describe({ snapshotAt, tables }: Moved, about: Record<string, string>, seconds: number): string {
  const filled = tables.filter(({ rows }) => rows > 0);
  const all = filled.reduce((sum, { rows }) => sum + rows, 0);
  const rows = filled.map((one) => [one.table, one.rows]);
  return `${table(['table', 'rows'], rows)}

${facts([
  ['from', about.from],
  ['to', about.to],
  [
    'moved',
    `${count(all, 'row')} in ${duration(seconds)}; all ${number(tables.length)} tables have the same rows in both`,
  ],
])}

To go on in the new warehouse, set DATABASE_URL to its address on every machine. The old one has all its rows, but refuses loads
since ${snapshotAt.slice(0, 19).replace('T', ' ')} UTC: two warehouses would spend one budget twice.
${nextStep('doctor')}`;
}
