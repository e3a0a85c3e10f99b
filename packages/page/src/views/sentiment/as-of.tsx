import { useEffect, useRef, useState } from 'preact/hooks';
import { go } from '../../address.ts';
import { Field, Select, useFocusBack } from '../../parts.tsx';
import type { Row } from '../../rows.ts';
import { aDay, isDay, moment, momentIn, zone } from '../../time.ts';
import type { Asked } from './asked.ts';

/** Since when something is known, and when it last changed; `undefined` until it is answered. */
type Known = Row<'loads/known'> | undefined;

/** Switches to the moment before the last load that changed something, and back to now. */
export function AsOfSwitch({ asOf, known }: { asOf: string | null; known: Known }) {
  const before = () => textOf(Date.parse(known?.changed_at ?? '') || Date.now());
  const isReady = asOf !== null || known !== undefined;
  return (
    <button
      type="button"
      class="as-of-switch"
      aria-pressed={asOf !== null}
      title="What this warehouse knew at a past moment"
      // Not "disabled": coming back to now, the focus must find it though nothing is answered yet.
      aria-disabled={!isReady}
      onClick={() => isReady && go({ as_of: asOf === null ? before() : null })}
    >
      as of …
    </button>
  );
}

/** Shows the moment, and a slider and the named moments to change it. */
export function AsOf(props: {
  asOf: string;
  known: Known;
  show: Asked['show'];
  named: readonly Row<'moments'>[];
}) {
  const { asOf, known, show, named } = props;
  const first = known?.first_at;
  const box = useRef<HTMLDivElement>(null);
  useFocusBack(box, '.chips, .as-of-switch');
  const [now] = useState(Date.now);
  const [slid, setSlid] = useState<number>();
  useEffect(() => setSlid(undefined), [asOf]);
  // A moment in the address has whole seconds.
  const oldest = first ? Math.ceil(Date.parse(first) / 1_000) * 1_000 : Date.parse(asOf);
  const newest = Math.max(now, Date.parse(asOf));
  // Whole seconds, at most 400.
  const step = Math.ceil(Math.max(1, newest - oldest) / 400_000) * 1_000;
  const last = Math.max(1, Math.ceil((newest - oldest) / step));
  const at = slid ?? Date.parse(asOf);
  const momentOf = (place: number) => (place >= last ? newest : oldest + place * step);
  return (
    <div class="row marked refused apart as-of" ref={box}>
      <span role="status">
        {show === 'lines' ? 'Strong lines:' : 'This shows'} what this warehouse knew on{' '}
        <strong>{moment(at, step < 60_000)}</strong> {zone.value}
        {zone.value !== 'UTC' && ` (${textOf(at).slice(0, 16).replace('T', ' ')} UTC)`}
        {first && at + 1_000 <= Date.parse(first) && ', before its first load'}
        {show === 'lines' ? '. Pale lines: what it knows now. Large dots: what changed.' : '.'}
      </span>
      <span class="row">
        <span class="slider">
          <input
            type="range"
            aria-label="Moment"
            aria-valuetext={`${moment(at, step < 60_000)} ${zone.value}`}
            min={0}
            max={last}
            value={Math.max(0, Math.min(last, Math.round((at - oldest) / step)))}
            onInput={(event) => setSlid(momentOf(Number(event.currentTarget.value)))}
            onChange={(event) =>
              go({ as_of: textOf(momentOf(Number(event.currentTarget.value))) }, 'replace')
            }
          />
          <span class="quiet small">{moment(oldest)}</span>
          <span class="quiet small end">{newest === now ? 'now' : moment(newest)}</span>
        </span>
        <Field
          size={19}
          label={`Day, moment (${zone.value}) or name`}
          title={`A day (its end, UTC), a moment (${zone.value}, or with an offset: 16:00-05:00, 16:00Z) or the name of one`}
          value={named.find((one) => Date.parse(one.at) === at)?.name ?? moment(at, true)}
          onEnter={(text) => {
            const chosen = readMoment(text, named, now);
            if (chosen === undefined)
              return `"${text}" is neither a day or moment (YYYY-MM-DD hh:mm, ${zone.value}) nor the name of one.`;
            return void go({ as_of: chosen });
          }}
        />
        <button type="button" onClick={() => go({ as_of: null })}>
          Back to now
        </button>
        {named.length > 0 && (
          <Select
            label="Named moment"
            value={named.find((one) => Date.parse(one.at) === at)?.at ?? ''}
            values={[
              ['', 'named …'],
              ...named.map(({ name, at, note }) => [at, note ? `${name}: ${note}` : name] as const),
            ]}
            onChange={(as_of) => go({ as_of })}
          />
        )}
      </span>
    </div>
  );
}

/**
 * Reads a moment as a person writes it: a name, a time in the zone of the page or with an offset, or a day (UTC), which counts
 * to its end.
 * @returns it as the address has it; `undefined` if it is none of these
 */
export function readMoment(
  text: string,
  named: readonly { readonly name: string }[],
  now: number,
): string | undefined {
  if (named.some(({ name }) => name === text)) return text;
  if (isDay(text)) return textOf(Math.min(now, Date.parse(text) + aDay - 1_000));
  const moment = momentIn(text);
  return Number.isNaN(moment) ? undefined : textOf(moment);
}

function textOf(moment: number): string {
  return `${new Date(moment).toISOString().slice(0, 19)}Z`;
}
