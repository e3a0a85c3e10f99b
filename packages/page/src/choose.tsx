import { group } from 'd3-array';
import { useEffect, useId } from 'preact/hooks';
import { useAnswer } from './api.ts';
import { findNames, type Named } from './loader.ts';
import { Field } from './parts.tsx';
import { namesOf, type Row } from './rows.ts';

export interface Choice extends Named {
  /** Shown, but not searched. */
  readonly note?: string;
}

const notLoaded = 'not loaded';

/** Returns all countries by name or all topics by category, loaded ones first, also those that the service no longer lists. */
function choicesOf(
  kind: 'country' | 'topic',
  listed: readonly Row<'series'>[] | undefined,
  loaded: readonly string[],
): Choice[] {
  const names = namesOf(listed, kind);
  const all = [...new Set([...loaded, ...names.keys()])].map((code) => {
    const note = loaded.includes(code) ? '' : notLoaded;
    const name = names.get(code) ?? undefined;
    return kind === 'country' ? { code, name, note } : { code, group: name, note };
  });
  return all.toSorted((a, b) => (a.group ?? '').localeCompare(b.group ?? ''));
}

/** Returns the choices of headlines, and what of them was requested. */
export function useChoices(first: Row<'feeds'> | undefined) {
  const listed = useAnswer('series', {}, 60);
  const asked = first && {
    feed: first.feed,
    match_type: first.match_type,
    from: first.oldest,
    to: first.newest,
  };
  const requested = useAnswer('coverage', asked, 30).answer?.rows ?? [];
  const [countries, topics] = (['country', 'topic'] as const).map((kind) =>
    listed.answer || listed.error
      ? choicesOf(kind, listed.answer?.rows, [...new Set(requested.map((one) => one[kind]))])
      : [],
  ) as [Choice[], Choice[]];
  return { requested, countries, topics };
}

/** Names what is chosen: by name where there is room for it. */
export function namesIn(choices: readonly Choice[], chosen: readonly string[]): string {
  const names = chosen.map((code) => choices.find((choice) => choice.code === code)?.name ?? code);
  return names.length <= 2 ? names.join(', ') : chosen.join(', ');
}

/** The chosen that are named one by one. */
const mostChips = 4;

let isWanted = false;

/** Moves the focus to the first field that chooses a country or a topic, or to the next one that appears. */
export function findSeries(): boolean {
  const field = document.querySelector<HTMLElement>('main .choose input');
  isWanted = !field;
  field?.focus();
  return !isWanted;
}

/** Chooses some of many: what is typed or taken from a list is added, and a click on what is chosen removes it. */
export function Choose(props: {
  label: string;
  choices: readonly Choice[];
  chosen: readonly string[];
  /** One more than so many replaces the first. */
  atMost: number;
  /** What is shown if nothing is chosen. */
  none?: string;
  onChange: (chosen: string[]) => void;
}) {
  const { label, choices, chosen, atMost, none = 'none', onChange } = props;
  const id = useId();
  const loaded = choices.filter(({ group, note }) => group && note !== notLoaded);
  // A group is chosen at once, in the place of all else.
  const groups = [...group(loaded, (one) => one.group!)].filter(
    ([, { length }]) => length > 1 && length <= atMost,
  );
  useEffect(() => {
    if (isWanted) findSeries();
  }, []);
  const add = (text: string) => {
    if (text === '') return;
    const [, all] = groups.find(([name]) => name.toLowerCase() === text.toLowerCase()) ?? [];
    const [found] = findNames(choices, text);
    if (choices.length === 0) return 'The list is still loading.';
    if (!found) return `Nothing in the list is called "${text}".`;
    onChange(all?.map(({ code }) => code) ?? [...new Set([...chosen, found.code])].slice(-atMost));
  };
  return (
    <div class="choose labelled">
      <span class="quiet">{label}</span>
      {chosen.slice(0, mostChips).map((code) => {
        const name = namesIn(choices, [code]);
        return (
          <button
            key={code}
            type="button"
            class="chip"
            title={name}
            onClick={({ currentTarget }) => {
              // It goes, and the focus must not.
              currentTarget.closest('.choose')!.querySelector('input')!.focus();
              onChange(chosen.filter((one) => one !== code));
            }}
          >
            <span>{code}</span>
            <span class="quiet" aria-hidden="true">
              ×
            </span>
            <span class="hidden">{name}, chosen: remove</span>
          </button>
        );
      })}
      {chosen.length > mostChips && (
        <button type="button" class="chip" onClick={() => onChange(chosen.slice(0, mostChips))}>
          + {chosen.length - mostChips}
          <span class="hidden"> more chosen: remove</span>
        </button>
      )}
      <Field
        label={label}
        placeholder={chosen.length > 0 ? 'add …' : none}
        title={`Up to ${atMost}`}
        list={id}
        value=""
        onEnter={add}
      />
      <datalist id={id}>
        {groups.map(([name, all]) => (
          <option key={name} value={name}>
            all {all.length} that are loaded
          </option>
        ))}
        {choices.map(({ code, name, group, note }) => (
          <option key={code} value={code}>
            {[name, group, note].filter(Boolean).join(' · ')}
          </option>
        ))}
      </datalist>
    </div>
  );
}
