import { chosen } from '../../address.ts';
import { Switch } from '../../parts.tsx';

const shows = { lines: 'Lines', heat: 'Heat map', changes: 'Changes', feeds: 'Other feeds' };

/** How Explore shows what is asked. */
export function shown() {
  return chosen('show', shows);
}

/** Switches between the ways to look at the same series and days. */
export function Shows() {
  return (
    <Switch label="Shown as" name="show" value={shown()} values={shows} others={{ at: null, of: null }} />
  );
}
