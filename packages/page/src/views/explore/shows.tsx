import { chosen } from '../../address.ts';
import { Switch } from '../../parts.tsx';

const shows = { lines: 'Lines', changes: 'Changes', feeds: 'Other feeds' };

export function shown() {
  return chosen('show', shows);
}

export function Shows() {
  return (
    <Switch label="Shown as" name="show" value={shown()} values={shows} others={{ at: null, of: null }} />
  );
}
