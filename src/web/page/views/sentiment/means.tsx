import { type Parameters, useAnswer } from '../../api.ts';
import { Swatch } from '../../parts.tsx';
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
  };
}

/** Explains the colours of means, and what is drawn without colour. */
export function Scale({ limit, isDotted }: { limit: number; isDotted: boolean }) {
  return (
    <div class="row tight small legend">
      <span class="quiet">negative, −{limit} or less</span>
      <span class="ramp" aria-hidden="true" />
      <span class="quiet">positive, +{limit} or more</span>
      <span class="quiet">
        <Swatch kind="hatched" />
        not loaded
      </span>
      <span class="quiet">
        <Swatch kind={isDotted ? 'dotted' : 'blank'} />
        no news
      </span>
    </div>
  );
}
