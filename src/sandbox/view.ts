import type { SandboxSettings } from './options.ts';
import { type Zone, zoneOf } from './zone.ts';

/** What a feed can see of the data. */
export interface View {
  readonly settings: SandboxSettings;
  readonly zone: Zone;
  /** Milliseconds since 1970; nothing that came, changed or went later is seen. */
  readonly now: number;
}

export type ViewKind = 'historical' | 'live';

/** What the historical or the live feeds show at this moment; either can lag behind the clock. */
export function viewOf(settings: SandboxSettings, kind: ViewKind): View {
  const lag = kind === 'live' ? settings.live.delaySeconds * 1000 : settings.historicalDelayMinutes * 60_000;
  return { settings, zone: zoneOf(settings.timeZone), now: settings.clock().getTime() - lag };
}
