import { duration, minute } from '../terminal/table.ts';
import type { Standby } from '../warehouse/standby.ts';

/** How current a standby is, for a person. */
export function standbyText(standby: Standby | undefined): string | undefined {
  if (!standby) return undefined;
  const { replayedTo, behindSeconds } = standby;
  return `complete to ${minute(replayedTo)} UTC, at most ${duration(behindSeconds)} behind`;
}

export function standbyAsJson(standby: Standby | undefined) {
  if (!standby) return null;
  const { replayedTo, behindSeconds } = standby;
  return { replayed_to: replayedTo, behind_seconds: Math.round(behindSeconds * 10) / 10 };
}
