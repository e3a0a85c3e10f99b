import { drifted } from './drift.ts';
import { DRIFT_KINDS, type Fault } from './fault.ts';

/** Returns the records with their fault, or the same array if the fault does not apply to them. */
export function spoilRecords(fault: Fault, records: readonly unknown[]): readonly unknown[] {
  if (records.length === 0) return records;
  if (fault.kind === 'drift') return drifted(records, fault.drifts ?? DRIFT_KINDS);
  return fault.kind === 'duplicate-record' ? [...records, records[0]] : records;
}
