import type { SandboxSettings } from './options.ts';
import { type Zone, zoneOf } from './zone.ts';

/** The part of the data that a feed can see. */
export interface View {
  readonly settings: SandboxSettings;
  readonly zone: Zone;
  /** Milliseconds since 1970. Later changes are not visible. */
  readonly now: number;
}

export type ViewKind = 'historical' | 'live';

/** Returns what the historical or the live feeds show now. Either can lag behind the clock. */
export function viewOf(settings: SandboxSettings, kind: ViewKind): View {
  const lag = kind === 'live' ? settings.live.delaySeconds * 1000 : settings.historicalDelayMinutes * 60_000;
  return { settings, zone: zoneOf(settings.timeZone), now: settings.clock().getTime() - lag };
}
