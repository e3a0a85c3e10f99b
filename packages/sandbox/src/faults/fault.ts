import { checked } from '../checked.ts';
import { scriptedFault } from './fault-schema.ts';

/** Checks a fault, and fills in its defaults. @throws RangeError, which names what is wrong */
export const faultFrom = checked(scriptedFault);

/** A fault for the next `times` (1) requests that `match` (all) accepts and that can have it. */
export type ScriptedFault = Readonly<Parameters<typeof faultFrom>[0]>;

/** One thing that goes wrong with one answer. */
export type Fault = ReturnType<typeof faultFrom>;

export type FaultKind = Fault['kind'];

/** What can be wrong with single records of a page. */
export type DriftKind = Extract<Fault, { kind: 'drift' }>['drifts'][number];

/** The kinds of feeds that faults distinguish: `plain` ones have no cursor. */
export type FeedKind = 'paged' | 'plain';

/** Faults that change the content of an answer. Only feeds get them. */
export const PAGE_FAULTS: ReadonlySet<FaultKind> = new Set<FaultKind>([
  'drift',
  'repeat-token',
  'cycle-token',
  'missing-token',
  'empty-page',
  'duplicate-record',
]);

/** The page faults that need no cursor, so that every feed can get them. */
export const RECORD_FAULTS: ReadonlySet<FaultKind> = new Set<FaultKind>(['drift', 'duplicate-record']);
