import { drifted } from './drift.ts';
import type { Fault } from './fault.ts';

export interface FaultablePage {
  readonly records: readonly unknown[];
  readonly hasMore: boolean;
  readonly nextToken: string | null;
}

export interface PageFaultContext {
  /** The request's cursor. */
  readonly token: string | null;
  /** The cursor of the request before, if it is remembered. */
  readonly tokenBefore: string | null;
  /** Returns a new cursor for the same page. */
  readonly sameAgain: () => string;
}

/** Returns the page with its fault, or the same object if the fault cannot apply, for example without records. */
export function applyPageFault(fault: Fault, page: FaultablePage, context: PageFaultContext): FaultablePage {
  switch (fault.kind) {
    case 'repeat-token':
      return { ...page, hasMore: true, nextToken: context.token };
    case 'cycle-token':
      return { ...page, hasMore: true, nextToken: context.tokenBefore };
    case 'missing-token':
      return { ...page, hasMore: true, nextToken: null };
    case 'empty-page':
      return { records: [], hasMore: true, nextToken: context.sameAgain() };
    default: {
      const records = spoilRecords(fault, page.records);
      return records === page.records ? page : { ...page, records };
    }
  }
}

/** Returns the records with their fault, or the same array if the fault does not apply to them. */
export function spoilRecords(fault: Fault, records: readonly unknown[]): readonly unknown[] {
  if (records.length === 0) return records;
  if (fault.kind === 'drift') return drifted(records, fault.drifts);
  return fault.kind === 'duplicate-record' ? [...records, records[0]] : records;
}
