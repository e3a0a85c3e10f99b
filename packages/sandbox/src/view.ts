import type { SandboxSettings } from './options.ts';
import { type Zone, zoneOf } from './zone.ts';

/** The part of the data that a feed can see. */
export interface View {
  readonly settings: SandboxSettings;
  readonly zone: Zone;
  /** Milliseconds since 1970. Later changes are not visible. */
  readonly now: number;
}

/** Returns what the feeds show now. @param delayMinutes by how much they lag behind the clock */
export function viewOf(settings: SandboxSettings, delayMinutes = 0): View {
  const now = settings.clock().getTime() - delayMinutes * 60_000;
  return { settings, zone: zoneOf(settings.timeZone), now };
}
