import { colourOf } from '../../draw/diverging.ts';
import { Swatch } from '../../parts.tsx';

/** Explains the colours of means, and what is drawn without colour. */
export function Scale({ limit, isDotted }: { limit: number; isDotted: boolean }) {
  const steps = Array.from({ length: 21 }, (_, index) => ((index - 10) / 10) * limit);
  return (
    <div class="row tight small legend">
      <span class="quiet">negative, −{limit} or less</span>
      <span class="ramp" aria-hidden="true">
        {steps.map((step) => (
          <span key={step} style={{ background: colourOf(step, limit) }} />
        ))}
      </span>
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
