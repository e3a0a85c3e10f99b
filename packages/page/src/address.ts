import { computed, signal } from '@preact/signals';
import { report } from './report.ts';

/** The query of the page's address, which alone decides what is shown. */
const search = signal('');

/** Views of an earlier page: links to them that were kept show the same. */
const moved: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  today: { view: 'pipeline' },
  coverage: { view: 'pipeline' },
  sentiment: { view: 'explore' },
  changes: { view: 'explore', show: 'changes' },
  feeds: { view: 'explore', show: 'feeds' },
};

/** Returns the query of the address, of an earlier page as this one has it. */
function currentSearch(): string {
  const asked = new URLSearchParams(location.search);
  const view = asked.get('view') ?? '';
  if (!Object.hasOwn(moved, view)) return location.search;
  // What changes are of was called as the line of a point is.
  const each = view === 'changes' ? asked.get('of') : null;
  if (each) asked.delete('of');
  for (const [name, value] of Object.entries({ ...moved[view], ...(each && { each }) }))
    asked.set(name, value);
  return `?${asked}`;
}

/** Follows the address, also after back and forward. */
export function followAddress(): void {
  const read = () => {
    search.value = currentSearch();
  };
  read();
  addEventListener('popstate', read);
}

export const address = computed(() => new URLSearchParams(search.value));

type Values = Readonly<Record<string, string | readonly string[] | null>>;

/** Returns the address with other values; `null` removes a parameter. */
export function addressWith(values: Values): string {
  const next = new URLSearchParams(address.value);
  for (const [name, value] of Object.entries(values)) {
    next.delete(name);
    for (const one of value === null ? [] : [value].flat()) next.append(name, one as string);
  }
  return `?${next}`;
}

/**
 * Goes to the address with other values.
 * @param how `replace` while a slider moves, so that "back" does not go through each of its positions
 */
export function go(values: Values, how: 'push' | 'replace' = 'push'): void {
  const next = addressWith(values);
  if (next === search.value) return;
  if (report) {
    // A browser keeps no history of what a file shows.
    search.value = next;
    return;
  }
  history[how === 'push' ? 'pushState' : 'replaceState'](null, '', next);
  search.value = next;
}

/** Reads one of a few values from the address; by default the first one, or `usually`. */
export function chosen<Value extends string>(
  name: string,
  values: Readonly<Record<Value, unknown>>,
  usually = Object.keys(values)[0] as Value,
): Value {
  const given = address.value.get(name) ?? '';
  return Object.hasOwn(values, given) ? (given as Value) : usually;
}
