import type { FaultKind } from '../faults/fault.ts';

/** Counts of requests below `/v1` and their answers since the sandbox started. */
export interface SandboxStats {
  readonly requests: number;
  /** By status; `none` for connections that were cut before a status was sent. */
  readonly byStatus: Readonly<Record<string, number>>;
  /** Complete answers of feeds with status 200, including live and faulty ones, and their records. */
  readonly pages: number;
  readonly records: number;
  readonly faults: Readonly<Partial<Record<FaultKind, number>>>;
  /** Most requests that passed the limits within any second, in real time. */
  readonly mostInOneSecond: number;
  readonly inFlight: number;
  /** Most requests in flight at once for one cursor: the same key, path and query, with any limit and token. */
  readonly cursorReadsAtOnce: number;
  /** Complete pages of paged feeds that had been sent completely before, for the same query and token. */
  readonly pagesServedTwice: number;
}

export type Counts = ReturnType<typeof countsOf>;

export function countsOf() {
  const totals = { requests: 0, pages: 0, records: 0, inFlight: 0 };
  let mostReads = 0;
  const byStatus: Record<string, number> = {};
  const faults: Partial<Record<FaultKind, number>> = {};
  const readsOf = new Map<string, number>();
  const recent: number[] = [];
  let mostInOneSecond = 0;
  const served = new Set<string>();
  let pagesServedTwice = 0;

  return {
    /** Counts a request. @returns a function to call once, with the status, when the answer has left */
    arrived(cursor: string | null): (status: number | null) => void {
      totals.requests += 1;
      totals.inFlight += 1;
      if (cursor !== null) {
        const reads = (readsOf.get(cursor) ?? 0) + 1;
        readsOf.set(cursor, reads);
        mostReads = Math.max(mostReads, reads);
      }
      return (status) => {
        const name = status ?? 'none';
        byStatus[name] = (byStatus[name] ?? 0) + 1;
        totals.inFlight -= 1;
        if (cursor === null) return;
        const reads = readsOf.get(cursor)! - 1;
        if (reads === 0) readsOf.delete(cursor);
        else readsOf.set(cursor, reads);
      };
    },

    admitted(): void {
      const now = performance.now();
      recent.push(now);
      while (recent[0]! <= now - 1000) recent.shift();
      mostInOneSecond = Math.max(mostInOneSecond, recent.length);
    },

    faultServed(kind: FaultKind): void {
      faults[kind] = (faults[kind] ?? 0) + 1;
    },

    /** Counts an answer of a feed. `page` identifies the page, or is `null` if it may be requested again. */
    pageServed(page: string | null, records: number): void {
      totals.pages += 1;
      totals.records += records;
      if (page === null) return;
      if (served.has(page)) pagesServedTwice += 1;
      served.add(page);
    },

    stats: (): SandboxStats => ({
      ...totals,
      byStatus: { ...byStatus },
      faults: { ...faults },
      mostInOneSecond,
      cursorReadsAtOnce: mostReads,
      pagesServedTwice,
    }),
  };
}
