import type { TargetedKeyboardEvent } from 'preact';
import { useEffect, useId, useState } from 'preact/hooks';

export interface Choice {
  readonly value: string;
  readonly title: string;
  readonly group?: string;
  /** Shown, but not searched. */
  readonly note?: string;
}

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
  onChange: (chosen: string[]) => void;
}) {
  const { label, choices, chosen, atMost, onChange } = props;
  const [isOpen, setOpen] = useState(false);
  const [words, setWords] = useState('');
  const [active, setActive] = useState(0);
  // Those that were chosen when the list opened come first, so that no row moves under the pointer.
  const [first, setFirst] = useState(chosen);
  const id = useId();
  const findBy = (words: string) => {
    const wanted = words.trim().toLowerCase();
    const begins = ({ title, value }: Choice) =>
      [title, value].some((name) => name.toLowerCase().startsWith(wanted));
    const rank = (choice: Choice) => (first.includes(choice.value) ? 0 : begins(choice) ? 1 : 2);
    return choices
      .filter(({ title, value, group = '' }) => `${title} ${value} ${group}`.toLowerCase().includes(wanted))
      .toSorted((a, b) => rank(a) - rank(b));
  };
  const found = findBy(words);
  const flip = (value: string) => {
    if (chosen.includes(value)) onChange(chosen.filter((one) => one !== value));
    else onChange(atMost === 1 ? [value] : [...chosen, value].slice(-atMost));
    if (atMost === 1) setOpen(false);
  };
  useEffect(() => {
    if (isOpen) document.getElementById(`${id}-${active}`)?.scrollIntoView({ block: 'nearest' });
  }, [isOpen, active, id]);
  useEffect(() => {
    if (isWanted) findSeries();
  }, []);
  const onKey = (event: TargetedKeyboardEvent<HTMLInputElement>) => {
    // Enter may follow the last letter before the list is drawn anew.
    const typed = event.currentTarget.value;
    const enters = typed === words ? found[active] : findBy(typed)[0];
    if (event.key === 'Escape' && isOpen) setOpen(false);
    else if (event.key === 'ArrowDown') setActive(Math.min(active + 1, found.length - 1));
    else if (event.key === 'ArrowUp') setActive(Math.max(active - 1, 0));
    else if (event.key === 'Enter' && isOpen && enters) flip(enters.value);
    else return;
    if (event.key !== 'Escape') setOpen(true);
    event.preventDefault();
  };
  const isSeveral = atMost > 1;
  const titles = chosen.map((value) => choices.find((choice) => choice.value === value)?.title ?? value);
  return (
    <div
      class="choose"
      onFocusOut={({ currentTarget, relatedTarget }) => {
        if (!currentTarget.contains(relatedTarget as Node | null)) setOpen(false);
      }}
    >
      <label class="labelled">
        <span class="quiet">{label}</span>
        <input
          role="combobox"
          aria-expanded={isOpen}
          aria-controls={`${id}-list`}
          aria-activedescendant={isOpen && found[active] ? `${id}-${active}` : undefined}
          placeholder={titles.join(', ') || 'none'}
          value={words}
          onFocus={() => {
            setFirst(chosen);
            setOpen(true);
          }}
          onInput={(event) => {
            setWords(event.currentTarget.value);
            setActive(0);
            setOpen(true);
          }}
          onKeyDown={onKey}
        />
      </label>
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
          {found.map(({ value, title, group, note }, index) => (
            // biome-ignore lint/a11y/useKeyWithClickEvents: the keys are those of the field that it belongs to
            <div
              key={value}
              id={`${id}-${index}`}
              role="option"
              tabIndex={-1}
              aria-selected={chosen.includes(value)}
              class={index === active ? 'row tight active' : 'row tight'}
              onPointerDown={(event) => event.preventDefault()}
              onClick={() => flip(value)}
            >
              <span>
                {/* Not by CSS: Chromium keeps a ::before that no longer applies. */}
                <span class="tick" aria-hidden="true">
                  {chosen.includes(value) && '✓'}
                </span>
                {title}
              </span>
              <span class="quiet end">{[group, note].filter(Boolean).join(' · ')}</span>
            </div>
          ))}
          {found.length === 0 && <div class="quiet">nothing is called so</div>}
        </div>
      )}
    </div>
  );
}
