import { type Parameters, useAnswer } from '../../api.ts';
import { Source } from '../../parts.tsx';
import type { Path } from '../../rows.ts';
import { feed } from './asked.ts';

/**
 * Queries means, and the covered days of their series and period.
 * @param of what the covered days are of, if not of the same
 */
export function useMeans<Of extends Path>(path: Of, parameters: Parameters, isReady = true, of = parameters) {
  const means = useAnswer(path, isReady ? parameters : undefined);
  return {
    means,
    covered: useAnswer('coverage/days', isReady ? { feed, ...of, by: null } : undefined),
    source: <Source of={means} chart=".chart, .grid, .map" />,
  };
}
