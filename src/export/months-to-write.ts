import { isDeepStrictEqual } from 'node:util';
import { Temporal } from 'temporal-polyfill';
import { ConfigError } from '../errors.ts';
import type { ExportScope, MonthState } from '../warehouse/tables/export-rows.ts';
import type { Manifest } from './manifest.ts';

/** Which months of an export are written, and which stay. */
export interface MonthsToWrite {
  readonly write: readonly MonthState[];
  /** `YYYY-MM`: their files stay as they are. */
  readonly kept: readonly string[];
  /** For the manifest. */
  readonly changedSince: string | null;
}

/**
 * Returns the months of an export to write: all months of a new export; of a continued one, those that differ from its manifest
 * or have changed since the requested moment.
 * @param months as the warehouse has them
 * @param held the export that is continued, if any
 * @param since the moment; without `held`, the new export contains only months that have changed since then
 */
export function monthsToWrite(
  months: readonly MonthState[],
  {
    scope,
    columns,
    held,
    since,
  }: {
    scope: ExportScope;
    columns: Manifest['columns'];
    held: Manifest | undefined;
    since: string | undefined;
  },
): MonthsToWrite {
  const isOther =
    !held ||
    !isDeepStrictEqual([held.columns, held.only, held.from], [columns, scope.only, scope.from ?? null]);
  if (isOther && (held || since === undefined)) return { write: months, kept: [], changedSince: null };
  const known = new Map(held?.months.map((month) => [month.month, month]));
  const changedSince = held ? held.changed_since : since!;
  // Days at the end of the period: some of their rows may be older than the existing export.
  const moved = held && held.to !== (scope.to ?? null) ? earlier(held.to, scope.to).slice(0, 7) : undefined;
  const isToWrite = ({ month, rows, fingerprint, isChanged }: MonthState) => {
    if (isChanged || (moved !== undefined && month >= moved)) return true;
    const before = known.get(month);
    return before ? before.rows !== rows || before.fingerprint !== fingerprint : changedSince === null;
  };
  const write = months.filter(isToWrite);
  const kept = months.filter((month) => !write.includes(month) && known.has(month.month));
  return { write, kept: kept.map(({ month }) => month), changedSince };
}

function earlier(...days: (string | null | undefined)[]): string {
  return days.filter((day) => day != null).toSorted()[0] ?? '';
}

/**
 * Returns the moment since which changed months are written even if the manifest matches: the requested one, but no later than the
 * moment of an export that began with only changed months, because its manifest lacks the others.
 */
export function changesFrom(held: Manifest | undefined, since: string | undefined): string | undefined {
  const moments = [since, held?.changed_since ? held.exported_at : undefined].filter(
    (at) => at !== undefined,
  );
  return moments.toSorted(Temporal.Instant.compare)[0];
}

/** @throws ConfigError if the existing export is of other data, so that this one cannot continue it */
export function refuseOther(
  held: Manifest,
  place: string,
  wanted: Pick<Manifest, 'table' | 'format' | 'versions'>,
): void {
  const { as_of } = held;
  const [there, here] = [held, wanted].map(
    ({ table, format, versions }) => `${versions ? 'all versions of ' : ''}${table} as ${format}`,
  );
  if (there === here && as_of === null) return;
  const what = `${there}${as_of === null ? '' : ` as of ${as_of}`}`;
  throw new ConfigError(`${place} contains an export of ${what}, not of ${here}.`, {
    hint: 'Name another place with --out, or replace it with --overwrite.',
  });
}
