import { distance } from 'fastest-levenshtein';

/**
 * The candidate that was most likely meant, in any case: the one with the fewest edits, if these are at most half of its
 * letters; else one that contains what was written (`Employment`).
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

/** A hint for an unknown name: the nearest one, if any is near, and the list of all. */
export function knownNames(found: string, known: readonly string[]): string {
  const meant = nearest(found, known);
  return `${meant === undefined ? '' : `Did you mean ${meant}? `}Known are: ${known.join(', ')}.`;
}
