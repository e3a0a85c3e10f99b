import { addressOf, type Parameters, useAnswer } from '../../api.ts';
import { Source } from '../../parts.tsx';
import type { Path } from '../../rows.ts';
import { feed } from './asked.ts';

/**
 * Queries means, and the covered days of their series and period. The previous answers stay while the next are loading.
 * @param of what the covered days are of, if not of the same
 */
export function useMeans<Of extends Path>(path: Of, parameters: Parameters, isReady = true, of = parameters) {
  const days: Parameters = { feed, ...of, by: null };
  const means = useAnswer(path, isReady ? parameters : undefined);
  const covered = useAnswer('coverage/days', isReady ? days : undefined);
  return {
    rows: means.answer?.rows,
    ranges: covered.answer?.rows,
    /** True if both answer this question. */
    isCurrent:
      means.answer?.url === addressOf(path, parameters) &&
      covered.answer?.url === addressOf('coverage/days', days),
    error: means.error ?? covered.error,
    source: (
      <Source path={path} parameters={parameters} sql={means.answer?.sql} chart=".chart, .grid, .map" />
    ),
  };
}
