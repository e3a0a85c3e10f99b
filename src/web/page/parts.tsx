import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { go } from './address.ts';
import { type Asked, addressOf, type Parameters } from './api.ts';
import { plusDays, today } from './time.ts';

/** What is wrong, and what to do. */
export function Problem({
  error,
}: {
  error: { readonly message: string; readonly hint?: string | undefined };
}) {
  return (
    <div class="problem" role="alert">
      <strong>{error.message}</strong>
      {error.hint && <span> {error.hint}</span>}
    </div>
  );
}

/** What an answer is shown as; the last one stays, paler, while the next is awaited. */
export function Answered<Row>({
  asked: { answer, error, isAsking },
  empty,
  children,
}: {
  asked: Asked<Row>;
  /** What is said if there are no rows. */
  empty?: ComponentChildren;
  children: (answer: NonNullable<Asked<Row>['answer']>) => ComponentChildren;
}) {
  return (
    <>
      {error && <Problem error={error} />}
      {answer === undefined ? (
        isAsking && !error && <p class="quiet waiting">Asking …</p>
      ) : answer.rows.length === 0 && empty !== undefined ? (
        <p class="empty">{empty}</p>
      ) : (
        <div class={isAsking || error ? 'stale' : undefined}>{children(answer)}</div>
      )}
    </>
  );
}

/** The SQL of a view to copy, and its data as CSV. */
export function Source({
  path,
  parameters,
  sql,
}: {
  path: string;
  parameters: Parameters;
  sql: string | undefined;
}) {
  const [isOpen, setOpen] = useState(false);
  const [isCopied, setCopied] = useState(false);
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    if (isOpen) dialog.current?.showModal();
    else setCopied(false);
  }, [isOpen]);
  return (
    <span class="source">
      <button type="button" disabled={sql === undefined} onClick={() => setOpen(true)}>
        SQL
      </button>
      <a class="button" href={addressOf(path, parameters, '.csv')} download>
        CSV
      </a>
      {isOpen && (
        <dialog ref={dialog} class="sql" aria-label="SQL of this view" onClose={() => setOpen(false)}>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, and must do so by keyboard */}
          <pre tabIndex={0}>{sql}</pre>
          <div class="row">
            <button
              type="button"
              onClick={() => void navigator.clipboard.writeText(sql ?? '').then(() => setCopied(true))}
            >
              {isCopied ? 'Copied' : 'Copy'}
            </button>
            <button type="button" onClick={() => dialog.current?.close()}>
              Close
            </button>
          </div>
        </dialog>
      )}
    </span>
  );
}

const periods = { '30 days': 30, '90 days': 90, '1 year': 365, '3 years': 1096, '10 years': 3653 };

/** A period of days: two days to type, and common ones that end with the last. Writes `from` and `to` into the address. */
export function Period({
  from,
  to,
  oldest,
  newest,
}: {
  from: string;
  to: string;
  oldest?: string | undefined;
  newest?: string | undefined;
}) {
  const end = newest ?? today();
  return (
    <fieldset class="period">
      <legend class="hidden">Period (days of UTC)</legend>
      <input
        type="date"
        aria-label="First day"
        value={from}
        max={to}
        onChange={(event) => event.currentTarget.value && go({ from: event.currentTarget.value })}
      />
      <span class="quiet">to</span>
      <input
        type="date"
        aria-label="Last day"
        value={to}
        min={from}
        onChange={(event) => event.currentTarget.value && go({ to: event.currentTarget.value })}
      />
      {Object.entries(periods).map(([name, days]) => (
        <button
          key={name}
          type="button"
          class="flat"
          aria-pressed={to === end && from === plusDays(end, 1 - days)}
          onClick={() => go({ from: plusDays(end, 1 - days), to: end })}
        >
          {name}
        </button>
      ))}
      {oldest && (
        <button
          type="button"
          class="flat"
          aria-pressed={from === oldest && to === end}
          onClick={() => go({ from: oldest, to: end })}
        >
          all
        </button>
      )}
    </fieldset>
  );
}

/** Chooses from few things, one of which holds: writes it into the address. */
export function Switch<Value extends string>({
  label,
  name,
  value,
  values,
}: {
  label: string;
  name: string;
  value: Value;
  /** Titles by value; as pairs if a value is a number, which an object would put first. */
  values: Readonly<Record<Value, string>> | readonly (readonly [Value, string])[];
}) {
  const pairs = Array.isArray(values) ? values : Object.entries(values);
  return (
    <fieldset class="switch">
      <legend class="hidden">{label}</legend>
      {(pairs as [Value, string][]).map(([one, title]) => (
        <button key={one} type="button" aria-pressed={one === value} onClick={() => go({ [name]: one })}>
          {title}
        </button>
      ))}
    </fieldset>
  );
}

const whole = new Intl.NumberFormat('en-US');

/** A count, its thousands apart. */
export function number(count: number): string {
  return whole.format(count);
}

/** A score from -1 to 1, with its sign. */
export function score(value: number | null): string {
  if (value === null) return '–';
  return `${value < 0 ? '−' : '+'}${Math.abs(value).toFixed(3)}`;
}

/** A share in percent; 100% only if nothing is missing. */
export function share(part: number, whole: number): string {
  if (whole === 0) return '–';
  return part === whole ? '100%' : `${(Math.floor((part / whole) * 1000) / 10).toFixed(1)}%`;
}
