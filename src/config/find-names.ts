import { oneName } from '../one-name.ts';

/** A country or a topic as a person may type it. */
export interface Named {
  readonly code: string;
  readonly name?: string | null | undefined;
  /** Further words that find it, such as the category of a topic. */
  readonly group?: string | undefined;
}

/**
 * Returns what fits typed words, best first: an exact code (`gb`), a whole name or its initials (`uk`), a word that begins so;
 * only without any of those, what contains the words elsewhere.
 */
export function findNames<One extends Named>(all: readonly One[], typed: string): One[] {
  const wanted = oneName(typed).toLowerCase();
  if (wanted === '') return [...all];
  const ranked = all.map((one) => ({ one, rank: rankOf(one, wanted) })).filter(({ rank }) => rank < none);
  const isSure = ranked.some(({ rank }) => rank < contains);
  return ranked
    .filter(({ rank }) => rank < contains || !isSure)
    .toSorted((a, b) => a.rank - b.rank)
    .map(({ one }) => one);
}

const [contains, none] = [3, 4];

function rankOf({ code, name, group }: Named, wanted: string): number {
  const [ofCode, ofName] = [code, name ?? ''].map((text) => oneName(text).toLowerCase()) as [string, string];
  if (ofCode === wanted) return 0;
  const words = ofName
    .split(/[^\p{L}]+/u)
    .filter((word) => word !== '' && !['of', 'and', 'the'].includes(word));
  if (ofName === wanted || (words.length > 1 && words.map((word) => word[0]).join('') === wanted)) return 1;
  const texts = [ofCode, ofName, group?.toLowerCase() ?? ''];
  const begins = (text: string) =>
    text.startsWith(wanted) || new RegExp(`[^\\p{L}\\p{N}]${escaped(wanted)}`, 'u').test(text);
  if (texts.some(begins)) return 2;
  return [...texts, `${ofCode} ${ofName}`].some((text) => text.includes(wanted)) ? contains : none;
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
}
