import { distance } from 'fastest-levenshtein';

/**
 * The candidate that was most likely meant, whatever its case: the one that is the fewest edits away, if these are no
 * more than half of its letters; else one that holds what was written as a part (`Employment`).
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

/** A hint for somebody who wrote a name that is not known: the nearest one, if any is near, and all there are. */
export function knownNames(found: string, known: readonly string[]): string {
  const meant = nearest(found, known);
  return `${meant === undefined ? '' : `Did you mean ${meant}? `}Known are: ${known.join(', ')}.`;
}
