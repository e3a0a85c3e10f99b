import type { Days } from '../../draw/cells.ts';
import { states, stateTitles } from '../../draw/states.ts';
import { number, share } from '../../numbers.ts';
import { Swatch } from '../../parts.tsx';

/** Shows all states with their days and percent, with the bar of a single cell. */
export function Legend({ days }: { days: Days }) {
  return (
    <ul class="row tight small" aria-label="Days by state">
      {([...states, 'never'] as const).map((state) => (
        <li key={state} title={stateTitles[state][1]} class={days[state] === 0 ? 'quiet' : undefined}>
          <Swatch kind={state} />
          {stateTitles[state][0]} <b>{number(days[state])}</b>
          {state === 'covered' && ' days'}{' '}
          {days[state] > 0 && (
            <span class="quiet">
              {days[state] / days.all < 0.001 ? '<0.1%' : share(days[state], days.all)}
            </span>
          )}
        </li>
      ))}
    </ul>
  );
}
