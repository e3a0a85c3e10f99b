import { useEffect, useRef, useState } from 'preact/hooks';
import type { firstLoad, namedMoments } from '../../../../warehouse/questions/contents.ts';
import { go } from '../../address.ts';
import { useAnswer, type Wire } from '../../api.ts';
import { useFocusBack } from '../../parts.tsx';
import type { Row } from '../../rows.ts';
import { moment, zone } from '../../time.ts';

const aDay = 86_400_000;
/** Steps of the slider, shorter for a warehouse of a few days. */
const steps = [1_000, 10_000, 60_000, 600_000, 3_600_000, aDay];
const mostSteps = 400;

/** Switches to a past moment and back to now. */
export function AsOfSwitch({ asOf }: { asOf: string | null }) {
  return (
    <button
      type="button"
      class="as-of-switch"
      aria-pressed={asOf !== null}
      title="What this warehouse knew at a past moment"
      onClick={() => go({ as_of: asOf === null ? textOf(Date.now()) : null })}
    >
      as of …
    </button>
  );
}

/** Shows the moment, and a slider and the named moments to change it. */
export function AsOf({ asOf, named }: { asOf: string; named: readonly Wire<Row<typeof namedMoments>>[] }) {
  const first = useAnswer<Row<typeof firstLoad>>('loads/first', {}, 300).answer?.rows[0]?.started_at;
  const box = useRef<HTMLDivElement>(null);
  useFocusBack(box, '.as-of-switch');
  const [now] = useState(Date.now);
  const [slid, setSlid] = useState<number>();
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => {
    clearTimeout(timer.current);
    setSlid(undefined);
  }, [asOf]);
  const oldest = first ? Date.parse(first) : Date.parse(asOf);
  const newest = Math.max(now, Date.parse(asOf));
  const step = steps.find((one) => (newest - oldest) / one <= mostSteps) ?? aDay;
  const last = Math.max(1, Math.ceil((newest - oldest) / step));
  const at = slid ?? Date.parse(asOf);
  const momentOf = (place: number) => (place >= last ? newest : oldest + place * step);
  const slide = (place: number) => {
    setSlid(momentOf(place));
    clearTimeout(timer.current);
    timer.current = setTimeout(() => go({ as_of: textOf(momentOf(place)) }, 'replace'), 200);
  };
  return (
    <div class="as-of" ref={box}>
      <span role="status">
        As this warehouse knew it on <strong>{moment(at)}</strong> {zone.value}
        {first && at + 1_000 <= Date.parse(first) && ', before its first load'}.{' '}
        <span class="quiet">Headlines that were loaded later are not included, however old they are.</span>
      </span>
      <span class="row">
        <input
          type="range"
          aria-label="Moment"
          aria-valuetext={`${moment(at)} ${zone.value}`}
          min={0}
          max={last}
          value={Math.max(0, Math.min(last, Math.round((at - oldest) / step)))}
          onInput={(event) => slide(Number(event.currentTarget.value))}
        />
        <label>
          <span class="quiet">UTC</span>{' '}
          <input
            type="datetime-local"
            step={1}
            value={new Date(at).toISOString().slice(0, 19)}
            onChange={(event) => {
              const chosen = Date.parse(`${event.currentTarget.value}Z`);
              if (!Number.isNaN(chosen)) go({ as_of: textOf(chosen) });
            }}
          />
        </label>
        {named.length > 0 && (
          <select
            aria-label="Named moment"
            value={named.find((one) => Date.parse(one.at) === at)?.at ?? ''}
            onChange={(event) => go({ as_of: event.currentTarget.value })}
          >
            <option value="" disabled>
              named …
            </option>
            {named.map(({ name, at, note }) => (
              <option key={name} value={at}>
                {note ? `${name}: ${note}` : name}
              </option>
            ))}
          </select>
        )}
        <button type="button" onClick={() => go({ as_of: null })}>
          Back to now
        </button>
      </span>
    </div>
  );
}

function textOf(moment: number): string {
  return `${new Date(moment).toISOString().slice(0, 19)}Z`;
}
