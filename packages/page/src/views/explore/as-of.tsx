import { useEffect, useId, useState } from 'preact/hooks';
import { address, go } from '../../address.ts';
import { useAnswer } from '../../api.ts';
import { Chip, Field, Problem } from '../../parts.tsx';
import type { Row } from '../../rows.ts';
import { aDay, isDay, moment, momentIn, now, zone } from '../../time.ts';
import { asOfIn, feed } from './asked.ts';

/** Returns since when something is known, and when it last changed; `undefined` until it is answered. */
function useKnown(): Row<'loads/known'> | undefined {
  return useAnswer('loads/known', { feed }, 30).answer?.rows[0];
}

/** Returns the moments that have a name; `undefined` until it is answered. */
export function useMoments(): readonly Row<'moments'>[] | undefined {
  return useAnswer('moments', {}, 300).answer?.rows;
}

/** Says that the address has a moment that is none: what is shown is known now. */
export function UnknownMoment() {
  const named = useMoments();
  const given = address.value.get('as_of');
  if (!given || !named || asOfIn(named)) return null;
  const error = { message: `No moment is named "${given}".`, hint: 'This shows what is known now.' };
  return <Problem error={error} />;
}

/** Chooses a moment by what is typed, by its name, or now. */
export function AsOfChip({ asOf }: { asOf: string | null }) {
  const at = asOf && Date.parse(asOf);
  const named = useMoments() ?? [];
  const changed = useKnown()?.changed_at;
  const id = useId();
  const own = named.find((one) => Date.parse(one.at) === at);
  return (
    <Chip label="As of" title={`as of ${at ? moment(at) : 'now'}`}>
      <Field
        size={19}
        label={`Day, moment (${zone.value}) or name`}
        title={`A day (its end, UTC), a moment (${zone.value}, or with an offset: 16:00-05:00, 16:00Z) or the name of one`}
        placeholder="a day, moment or name"
        list={id}
        value={at ? (own?.name ?? moment(at, true)) : ''}
        onEnter={(text) => {
          const chosen = text === '' ? null : readMoment(text, named);
          if (chosen === undefined)
            return `"${text}" is neither a day or moment (YYYY-MM-DD hh:mm, ${zone.value}) nor the name of one.`;
          return void go({ as_of: chosen });
        }}
      />
      <datalist id={id}>
        {changed && (
          <option value={textOf(Date.parse(changed))}>before the last load that changed something</option>
        )}
        {named.map(({ name, note }) => (
          <option key={name} value={name}>
            {note}
          </option>
        ))}
      </datalist>
      <button type="button" aria-disabled={!at} onClick={() => go({ as_of: null })}>
        Back to now
      </button>
    </Chip>
  );
}

/**
 * Chooses the moment on a track of all loads that changed something.
 * @param props.asOf that of what is shown, which may still be another one than in the address
 */
export function AsOf({ asOf, isLines }: { asOf: string | null; isLines: boolean }) {
  const first = useKnown()?.first_at;
  const named = useMoments() ?? [];
  const loads = useAnswer('loads', { limit: 500 }, 30).answer?.rows ?? [];
  const [present] = useState(now);
  const [slid, setSlid] = useState<number>();
  const asked = asOfIn(named);
  useEffect(() => setSlid(undefined), [asked]);
  const chosen = asked === null ? present : Date.parse(asked);
  // A moment in the address has whole seconds.
  const oldest = first ? Math.ceil(Date.parse(first) / 1_000) * 1_000 : chosen;
  const newest = Math.max(present, chosen);
  // Whole seconds, at most 400.
  const step = Math.ceil(Math.max(1, newest - oldest) / 400_000) * 1_000;
  const end = oldest + Math.max(1, Math.ceil((newest - oldest) / step)) * step;
  const at = slid ?? chosen;
  const isNow = at === present;
  const changed = loads.filter(
    (load) => load.feed === feed && load.rows_inserted + load.rows_changed + load.rows_retracted > 0,
  );
  const spanned = Math.max(1, newest - oldest);
  return (
    <div class={`marked apart ${asOf === null ? 'screen' : 'refused'}`}>
      <span role="status">
        {asOf === null ? (
          'As of now. Move back for what this warehouse knew then.'
        ) : (
          <>
            {isLines ? 'Strong lines:' : 'This shows'} what this warehouse knew on{' '}
            <strong>{moment(asOf, step < 60_000)}</strong> {zone.value}
            {zone.value !== 'UTC' && ` (${asOf.slice(0, 16).replace('T', ' ')} UTC)`}
            {first && Date.parse(asOf) + 1_000 <= Date.parse(first) && ', before its first load'}
            {isLines ? '. Pale lines: what it knows now. Large dots: what changed.' : '.'}
          </>
        )}
      </span>
      <div class="slider">
        <div
          class="ticks"
          role="img"
          aria-label={`${changed.length} of the last ${loads.length} loads changed something`}
        >
          {changed.map(({ load_id, ended_at }) => (
            <i
              key={load_id}
              title={moment(ended_at)}
              // A load may have ended after the page was opened.
              style={{ left: `clamp(0%, ${(100 * (Date.parse(ended_at) - oldest)) / spanned}%, 100%)` }}
            />
          ))}
        </div>
        <input
          type="range"
          aria-label="Moment"
          aria-valuetext={isNow ? 'now' : `${moment(at, step < 60_000)} ${zone.value}`}
          min={oldest}
          max={end}
          step={step}
          value={isNow ? end : at}
          onInput={({ currentTarget: { valueAsNumber } }) =>
            setSlid(valueAsNumber === end ? present : valueAsNumber)
          }
          onChange={({ currentTarget: { valueAsNumber } }) =>
            go({ as_of: valueAsNumber === end ? null : textOf(valueAsNumber) }, 'replace')
          }
        />
        <div class="row quiet small">
          {moment(oldest)}
          <span class="end">{newest === present ? 'now' : moment(newest)}</span>
        </div>
      </div>
    </div>
  );
}

/**
 * Reads a moment as a person writes it: a name, a time in the zone of the page or with an offset, or a day (UTC), which counts
 * to its end.
 * @returns it as the address has it; `undefined` if it is none of these
 */
function readMoment(text: string, named: readonly { readonly name: string }[]): string | undefined {
  if (named.some(({ name }) => name === text)) return text;
  if (isDay(text)) return textOf(Math.min(now(), Date.parse(text) + aDay - 1_000));
  const moment = momentIn(text);
  return Number.isNaN(moment) ? undefined : textOf(moment);
}

function textOf(moment: number): string {
  return `${new Date(moment).toISOString().slice(0, 19)}Z`;
}
