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

/** A longer list of names would hide the hint. */
const mostListed = 20;

/** Returns a hint for an unknown name: the nearest known one, if any is near, and the known ones, if they are not many. */
export function knownNames(found: string, known: readonly string[]): string {
  const meant = nearest(found, known);
  const listed = known.slice(0, mostListed).join(', ') + (known.length > mostListed ? ' …' : '.');
  return `${meant === undefined ? '' : `Did you mean ${meant}? `}Known names: ${listed}`;
}
