import { checked } from './checked.ts';
import { optionSchema } from './option-schema.ts';

/** Checks options, and fills in the defaults. @throws RangeError, which names the option that is wrong */
export const settingsFrom = checked(optionSchema);

/** The options of `startSandbox`, which ../README.md lists. */
export type SandboxOptions = Parameters<typeof settingsFrom>[0];

export type SandboxSettings = Readonly<ReturnType<typeof settingsFrom>>;

/** How records look on the wire. */
export type RecordLook = SandboxSettings['records'];
