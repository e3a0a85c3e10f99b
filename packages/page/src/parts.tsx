import type { ComponentChildren, ComponentType, RefObject } from 'preact';
import { useEffect, useId, useLayoutEffect, useState } from 'preact/hooks';
import { address, addressWith, go } from './address.ts';
import type { Asked, Refusal } from './api.ts';
import { score } from './numbers.ts';
import { report } from './report.ts';
import { isDay, plusDays, today } from './time.ts';

/** Shows what is wrong and what to do; quietly, if it only is that the server may not see something. */
export function Problem({ error }: { error: Pick<Refusal, 'message'> & Partial<Refusal> }) {
  if (error.status === 403) return <p class="quiet">{error.message}</p>;
  return (
    <div class="problem marked failed apart" role="alert">
      <strong>{error.message}</strong>
      {error.hint && <span> {error.hint}</span>}
    </div>
  );
}

/** Shows what is wrong with several answers, each thing once: without the warehouse, all have the same error. */
export function Problems({ of }: { of: readonly Pick<Asked<object>, 'error'>[] }) {
  const errors = new Map(of.flatMap(({ error }) => (error ? [[error.message, error]] : [])));
  const isRefused = ({ status }: Refusal) => status === 403;
  const shown = [...errors.values()].filter((error) => !isRefused(error));
  return (
    <>
      {shown.map((error) => (
        <Problem key={error.message} error={error} />
      ))}
      {shown.length < errors.size && (
        <p class="quiet">
          This page reads the warehouse with a login that may not see jobs, what they miss, or requests.
        </p>
      )}
    </>
  );
}

/**
 * Shows an answer by a component that gets nothing but the answer. The previous one stays, paler and with its own words, while
 * the next is loading. A function made where it is used would be another component each time: the page would begin anew.
 */
export function Answered<Answer extends object>(props: { asked: Asked<Answer>; as: ComponentType<Answer> }) {
  const {
    asked: { answer, error, isAsking },
    as: Shown,
  } = props;
  return (
    <>
      {error && <Problem error={error} />}
      {answer ? (
        <div class={isAsking || error ? 'stale' : undefined} aria-busy={isAsking}>
          <Shown {...answer} />
        </div>
      ) : (
        isAsking && !error && <p class="quiet waiting">Asking …</p>
      )}
    </>
  );
}

/** Text that never breaks within a date or a moment. */
export function Flowing({ text }: { text: string }) {
  const parts = text.split(/(\d{4}-\d\d-\d\d(?: \d\d:\d\d)?)/);
  return parts.map((part, place) => (place % 2 === 1 ? <span class="nowrap">{part}</span> : part));
}

/** A link within the page, by the values of the address. It does not load the page again. */
export function Link(props: {
  to: Parameters<typeof go>[0];
  children: ComponentChildren;
  title?: string;
  'aria-current'?: 'page' | undefined;
}) {
  const { to, children, ...others } = props;
  return (
    <a
      {...others}
      href={addressWith(to)}
      onClick={(event) => {
        // The browser opens a new tab or window.
        if (event.ctrlKey || event.metaKey || event.shiftKey) return;
        event.preventDefault();
        go(to);
      }}
    >
      {children}
    </a>
  );
}

/** A part of a view below its title, with what stands beside the title. */
export function Section(props: { title: string; beside?: ComponentChildren; children: ComponentChildren }) {
  const { title, beside, children } = props;
  const id = useId();
  return (
    <section aria-labelledby={id}>
      <div class="row titled">
        <h2 id={id}>{title}</h2>
        {beside}
      </div>
      {children}
    </section>
  );
}

/** Names the page after its view and what that shows, for tabs, bookmarks and the history. */
export function useTitle(...parts: (string | undefined)[]): void {
  const title = `${parts.filter(Boolean).join(' · ')} – gmsi`;
  useEffect(() => {
    // A report has a subject line.
    if (!report) document.title = title;
  }, [title]);
}

/** A control that says what is chosen, and opens to change it. */
export function Chip(props: { label: string; title: string; children: ComponentChildren }) {
  const { label, title, children } = props;
  const id = useId();
  return (
    <>
      <button type="button" aria-label={`${label}: ${title}`} popovertarget={id}>
        {title} <span class="quiet">▾</span>
      </button>
      <div class="below" id={id} popover="auto">
        {children}
      </div>
    </>
  );
}

/** The title of a picture with what shares it, and what the picture shows. */
export function Titled(props: { title: string; beside?: ComponentChildren; children: ComponentChildren }) {
  return (
    <header class="headline">
      {props.beside}
      <h2>
        {/* No line begins with the point between two names. */}
        <Flowing text={props.title.replaceAll(' ·', '\u00a0·')} />
      </h2>
      <p class="quiet">{props.children}</p>
    </header>
  );
}

/** Common periods, by `from` in the address. */
const periods = {
  '7d': '7 d',
  '30d': '30 d',
  '90d': '90 d',
  '365d': '1 y',
  '1096d': '3 y',
  '3653d': '10 y',
  all: 'all',
};

/**
 * A field whose text counts once it is entered. What is being typed stays while the page is drawn anew; a text that is refused
 * goes, and the page says why.
 */
export function Field(props: {
  label: string;
  value: string;
  /** Returns what is wrong with a text that is refused. */
  onEnter: (text: string) => string | undefined;
  size?: number;
  placeholder?: string;
  title?: string;
  /** The id of a list of suggestions. */
  list?: string;
}) {
  const { label, value, onEnter, ...look } = props;
  const [typed, setTyped] = useState<string>();
  const [problem, setProblem] = useState<string>();
  useEffect(() => setProblem(undefined), [value]);
  const enter = (text: string) => {
    setTyped(undefined);
    setProblem(onEnter(text.trim()));
  };
  return (
    <>
      <input
        {...look}
        type="text"
        aria-label={label}
        value={typed ?? value}
        onInput={({ currentTarget, inputType }) => {
          setProblem(undefined);
          setTyped(currentTarget.value);
          // Firefox fills in a suggestion without a change.
          const isListed = [...(currentTarget.list?.options ?? [])].some(
            (one) => one.value === currentTarget.value,
          );
          if (inputType === 'insertReplacementText' && isListed) enter(currentTarget.value);
        }}
        onChange={({ currentTarget }) => enter(currentTarget.value)}
      />
      {problem && (
        <span class="bad" role="alert">
          {problem}
        </span>
      )}
    </>
  );
}

/** Returns what enters a day as the page writes it; a date field would write it in the browser's language. */
function entering(min: string, max: string, onChange: (day: string) => void) {
  return (day: string) => {
    if (!isDay(day)) return `"${day}" is not a day (YYYY-MM-DD).`;
    if (day < min || day > max) return `${day} is ${day < min ? `before ${min}` : `after ${max}`}.`;
    return void onChange(day);
  };
}

/**
 * Chooses a period: two days to type, or common ones that end with the last day. Writes `from` and `to` into the address; the
 * common ones stay relative there, so that a link shows the last days whenever it is opened.
 */
export function Period(props: {
  from: string;
  to: string;
  oldest?: string | undefined;
  newest?: string | undefined;
}) {
  const { from, to, oldest, newest } = props;
  const end = newest ?? today();
  const offered = Object.entries(periods).filter(([value]) => value !== 'all' || oldest);
  const named = address.value.get('from');
  const firstOf = (value: string) =>
    value === 'all' ? oldest : plusDays(end, 1 - Number.parseInt(value, 10));
  // Two may begin on the same day: the address decides which one is marked.
  const isMarked = (value: string) => to === end && firstOf(value) === from;
  const marked = offered.find(([value]) => value === named) ?? offered.find(([value]) => isMarked(value));
  const days = `${from} to ${to}`;
  return (
    <Chip label="Period" title={marked ? `${marked[1]}: ${days}` : days}>
      <fieldset>
        <legend class="hidden">Period (UTC days)</legend>
        <Field size={8} label="First day" value={from} onEnter={entering('', to, (from) => go({ from }))} />
        <span class="quiet">to</span>
        <Field
          size={8}
          label="Last day"
          value={to}
          onEnter={entering(from, '9999', (to) => go({ from, to }))}
        />
      </fieldset>
      <fieldset>
        <legend class="hidden">Common periods</legend>
        {offered.map((one) => (
          <button
            key={one[0]}
            type="button"
            class="flat"
            aria-pressed={one === marked}
            onClick={() => go({ from: one[0], to: null })}
          >
            {one[1]}
          </button>
        ))}
      </fieldset>
    </Chip>
  );
}

/** A list to choose one of many values from. @param title shown before it */
export function Select(props: {
  label: string;
  title?: string;
  value: string;
  values: readonly (readonly [value: string, title: string])[];
  onChange: (value: string) => void;
}) {
  const { label, title, value, values, onChange } = props;
  return (
    <label class="labelled">
      {title && <span class="quiet">{title}</span>}
      <select aria-label={label} value={value} onChange={(event) => onChange(event.currentTarget.value)}>
        {values.map(([value, title]) => (
          <option key={value} value={value}>
            {title}
          </option>
        ))}
      </select>
    </label>
  );
}

/** A small sample of a colour or a pattern, before its name: by default the colour of a state of days. */
export function Swatch({ kind, colour = `var(--${kind})` }: { kind: string; colour?: string }) {
  return <i class={`swatch ${kind}`} aria-hidden="true" style={{ '--colour': colour }} />;
}

/** Writes a score in the colour of its sign. */
export function Signed({ value, digits }: { value: number | null; digits?: number }) {
  const colour = value ? `var(--${value < 0 ? 'negative' : 'positive'})` : undefined;
  return <span style={{ color: colour }}>{score(value, digits)}</span>;
}

/** Chooses one of a few values, and writes it into the address. */
export function Switch<Value extends string>(props: {
  label: string;
  title?: string;
  name: string;
  value: Value;
  values: Readonly<Record<Value, string>>;
  others?: Parameters<typeof go>[0];
}) {
  const { label, title, name, value, values, others } = props;
  return (
    <fieldset class="switch">
      <legend class="hidden">{label}</legend>
      {title && <span class="quiet">{title}</span>}
      {(Object.entries(values) as [Value, string][]).map(([one, title]) => (
        <button
          key={one}
          type="button"
          aria-pressed={one === value}
          onClick={() => go({ [name]: one, ...others })}
        >
          {title}
        </button>
      ))}
    </fieldset>
  );
}

/** Returns the width of an element in whole CSS pixels; 0 until it is known. */
export function useWidth(element: RefObject<HTMLElement | null>): number {
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const measure = () => setWidth(Math.floor(element.current?.clientWidth ?? 0));
    measure();
    const observer = new ResizeObserver(measure);
    if (element.current) observer.observe(element.current);
    return () => observer.disconnect();
  }, []);
  return width;
}
