export type { DriftKind, FaultKind, ScriptedFault } from './faults/fault.ts';
export type { SeenRequest } from './faults/seen-request.ts';
export type { FeedName } from './feeds/catalog.ts';
export type { SandboxStats } from './gate/counts.ts';
export { type SandboxOptions, settingsFrom } from './options.ts';
export { type Sandbox, startSandbox } from './start-sandbox.ts';
export type { TruthItem, TruthQuestion, TruthRecord } from './truth.ts';
export type { WireRecord } from './wire-record.ts';
export { type WrittenArchive, writeArchives } from './write-archives.ts';
