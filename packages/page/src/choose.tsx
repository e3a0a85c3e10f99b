import type { TargetedKeyboardEvent } from 'preact';
import { useEffect, useId, useState } from 'preact/hooks';
import { useAnswer } from './api.ts';
import { findNames, type Named } from './loader.ts';
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
  const field = document.querySelector<HTMLElement>('main [role="combobox"]');
  isWanted = !field;
  // On a narrow screen, it is in a sheet.
  if (field?.checkVisibility() === false) field.closest<HTMLElement>('[popover]')?.showPopover();
  field?.focus();
  return !isWanted;
}

/** A list to choose from by typing, with arrow keys, Enter and Escape. */
export function Choose(props: {
  label: string;
  choices: readonly Choice[];
  chosen: readonly string[];
  atMost: number;
  /** What is shown if nothing is chosen. */
  none?: string;
  onChange: (chosen: string[]) => void;
}) {
  const { label, choices, chosen, atMost, none = 'none', onChange } = props;
  const isSeveral = atMost > 1;
  const [isOpen, setOpen] = useState(false);
  const [words, setWords] = useState('');
  const [active, setActive] = useState(0);
  // Enter was pressed before the choices were loaded.
  const [isEntered, setEntered] = useState(false);
  const id = useId();
  const found = findNames(choices, words);
  const choose = (next: string[]) => {
    // What was typed is done; without words, more may be chosen from the list.
    if (words !== '' || atMost === 1) setOpen(false);
    setWords('');
    setActive(0);
    onChange(next.slice(-atMost));
  };
  const flip = (code: string) => {
    if (chosen.includes(code)) choose(chosen.filter((one) => one !== code));
    else choose(atMost === 1 ? [code] : [...chosen, code]);
  };
  // Such as each loaded topic of a category that is typed.
  const all = found.filter(({ note }) => note !== notLoaded).map(({ code }) => code);
  useEffect(() => {
    if (isOpen) document.getElementById(`${id}-${active}`)?.scrollIntoView({ block: 'nearest' });
  }, [isOpen, active, id]);
  useEffect(() => {
    if (isWanted) findSeries();
  }, []);
  useEffect(() => {
    if (!isEntered || choices.length === 0) return;
    setEntered(false);
    if (isOpen && found[0]) flip(found[0].code);
  });
  const onKey = (event: TargetedKeyboardEvent<HTMLInputElement>) => {
    // Enter may follow the last letter before the list is drawn anew.
    const typed = event.currentTarget.value;
    const enters = typed === words ? found[active] : findNames(choices, typed)[0];
    const moves = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === 'Escape' && isOpen) setOpen(false);
    else if (event.key === 'Enter' && isOpen && typed !== '' && choices.length === 0) setEntered(true);
    else if (event.key === 'Enter' && isOpen && enters) flip(enters.code);
    else if (event.key === 'Enter') setOpen(true);
    else if (moves) {
      setActive(Math.max(0, Math.min(active + moves, found.length - 1)));
      setOpen(true);
    } else return;
    event.preventDefault();
  };
  return (
    <div
      class="choose"
      onFocusOut={({ currentTarget, relatedTarget }) => {
        if (!currentTarget.contains(relatedTarget as Node | null)) setOpen(false);
      }}
    >
      <div class="labelled">
        <span class="quiet">{label}</span>
        {isSeveral &&
          chosen.slice(0, mostChips).map((code) => {
            const name = choices.find((one) => one.code === code)?.name ?? code;
            return (
              <button
                key={code}
                type="button"
                class="chip"
                title={name}
                onClick={() => choose(chosen.filter((one) => one !== code))}
              >
                <span>{code}</span>
                <span class="quiet" aria-hidden="true">
                  ×
                </span>
                <span class="hidden">{name}, chosen: remove</span>
              </button>
            );
          })}
        {chosen.length > mostChips && isSeveral && <span class="quiet">+ {chosen.length - mostChips}</span>}
        <input
          role="combobox"
          aria-label={label}
          aria-expanded={isOpen}
          aria-controls={`${id}-list`}
          aria-activedescendant={isOpen && found[active] ? `${id}-${active}` : undefined}
          placeholder={isSeveral && chosen.length > 0 ? 'add …' : namesIn(choices, chosen) || none}
          title={chosen.join(', ')}
          value={words}
          onFocus={() => setOpen(true)}
          onInput={(event) => {
            setWords(event.currentTarget.value);
            setActive(0);
            setEntered(false);
            setOpen(true);
          }}
          onKeyDown={onKey}
        />
      </div>
      {isOpen && (
        <div
          class="list"
          role="listbox"
          id={`${id}-list`}
          aria-label={label}
          aria-multiselectable={isSeveral}
          // Tab skips the list, although it scrolls, because the field handles its keys.
          tabIndex={-1}
        >
          {isSeveral && (
            <div class="quiet">
              {chosen.length < atMost
                ? `Choose up to ${atMost}.`
                : `${atMost} are chosen: the next one replaces the first.`}
            </div>
          )}
          {all.length > 1 && all.length <= atMost && (
            <button type="button" class="flat" tabIndex={-1} onClick={() => choose(all)}>
              {all.length === found.length ? `only these ${all.length}` : `only the ${all.length} loaded`}
            </button>
          )}
          {found.map(({ code, name, group, note }, index) => (
            // biome-ignore lint/a11y/useKeyWithClickEvents: the keys are those of the field that it belongs to
            <div
              key={code}
              id={`${id}-${index}`}
              role="option"
              tabIndex={-1}
              aria-selected={chosen.includes(code)}
              class={index === active ? 'row tight active' : 'row tight'}
              onPointerDown={(event) => event.preventDefault()}
              onClick={() => flip(code)}
            >
              <span>
                {/* Not by CSS: Chromium keeps a ::before that no longer applies. */}
                <span class="tick" aria-hidden="true">
                  {chosen.includes(code) && '✓'}
                </span>
                {[code, name].filter(Boolean).join(' ')}
              </span>
              <span class="quiet end">{[group, note].filter(Boolean).join(' · ')}</span>
            </div>
          ))}
          {found.length === 0 && (
            <div class="quiet">{choices.length === 0 ? 'loading' : 'nothing is called so'}</div>
          )}
        </div>
      )}
    </div>
  );
}
