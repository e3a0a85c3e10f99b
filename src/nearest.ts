import { distance } from 'fastest-levenshtein';

/**
 * Returns the candidate with the fewest edits, regardless of case, if these are at most half of its letters; else one that
 * contains `found` (such as `Employment`).
 */
export function nearest(found: string, candidates: Iterable<string>): string | undefined {
  const wanted = found.toLowerCase();
  const ranked = [...candidates]
    .map((candidate) => ({ candidate, edits: distance(wanted, candidate.toLowerCase()) }))
    .toSorted((a, b) => a.edits - b.edits);
  const close = ranked.find(({ candidate, edits }) => edits <= Math.max(wanted.length, candidate.length) / 2);
  if (close) return close.candidate;
  return wanted.length < 3
    ? undefined
    : ranked.find(({ candidate }) => candidate.toLowerCase().includes(wanted))?.candidate;
}

/** Returns a hint for an unknown name: the nearest known one, if any is near, and the list of all. */
export function knownNames(found: string, known: readonly string[]): string {
  const meant = nearest(found, known);
  return `${meant === undefined ? '' : `Did you mean ${meant}? `}Known are: ${known.join(', ')}.`;
}
