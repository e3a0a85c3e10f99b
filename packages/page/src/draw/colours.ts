import { signal } from '@preact/signals';

const dark = matchMedia('(prefers-color-scheme: dark)');

/** True if the page is dark. Canvases are drawn again when it changes. */
export const isDark = signal(dark.matches);
dark.addEventListener('change', ({ matches }) => {
  isDark.value = matches;
});

/**
 * Returns the colours of CSS variables for a canvas. Colours an element with each, because a variable's own text may be
 * `light-dark(…)`.
 */
export function coloursOf<Name extends string>(names: readonly Name[]): Record<Name, string> {
  const probe = document.createElement('i');
  probe.hidden = true;
  document.body.append(probe);
  const colours = names.map((name) => {
    probe.style.color = `var(--${name})`;
    return [name, getComputedStyle(probe).color];
  });
  probe.remove();
  return Object.fromEntries(colours) as Record<Name, string>;
}

/** Returns the page's font for a canvas, which does not inherit it. */
export function font(pixels: number): string {
  return `${pixels}px system-ui, -apple-system, "Segoe UI", "Liberation Sans", Arial, sans-serif`;
}
