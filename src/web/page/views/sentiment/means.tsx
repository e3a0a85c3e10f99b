import { Swatch } from '../../parts.tsx';

/** True if all that there is was loaded, so that no headlines are no news. */
export function isWhole(state: string): boolean {
  return state === 'covered' || state === 'settling';
}

/** Says what may be missing of a mean; nothing if nothing is. */
export function loadedWords(state: string): string | undefined {
  return { settling: 'may still change', partial: 'loaded in part' }[state];
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
        not loaded, or in part
      </span>
      <span class="quiet">
        <Swatch kind={isDotted ? 'dotted' : 'blank'} />
        no news
      </span>
    </div>
  );
}
