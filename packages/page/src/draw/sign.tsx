/** As many series as people tell apart in one picture: each has a colour, and a marker beside it. */
export const mostTogether = 4;

/** Returns the number of a series' colour and marker; those of more series repeat. */
export function lookAt(place: number): number {
  return place % mostTogether;
}

/** The markers of series around a point, as paths of SVG: a circle, a square, a triangle and a diamond. */
export const markers = [
  'M-3.5 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0 -7 0z',
  'M-3.2 -3.2h6.4v6.4h-6.4z',
  'M0 -4.4L4.2 3.2H-4.2z',
  'M0 -4.8L4 0L0 4.8L-4 0z',
];

/** Draws a sample of a line, as legends have it. */
export function Sign({ place }: { place: number }) {
  return (
    <svg
      class="sign"
      aria-hidden="true"
      viewBox="-12 -6 24 12"
      style={{ color: `var(--series-${lookAt(place)})` }}
    >
      <path d="M-12 0H12" />
      <path d={markers[lookAt(place)]!} fill="currentColor" stroke="none" />
    </svg>
  );
}

/** Draws a sample of a hatch or a ring, as legends have it. */
export function Sample({ of }: { of: 'hatch' | 'ring' }) {
  return (
    <svg class="swatch" aria-hidden="true" viewBox="0 0 12 12">
      {of === 'hatch' && (
        <>
          <path d="M.5 .5h11v11h-11z" fill="var(--never)" />
          <path
            d="M.5 3.5l3 -3M.5 7.5l7 -7M.5 11.5l11 -11M4.5 11.5l7 -7M8.5 11.5l3 -3"
            stroke="var(--pending)"
          />
        </>
      )}
      <path d={of === 'hatch' ? 'M.5 .5h11v11h-11z' : 'M.5 6a5.5 5.5 0 1 0 11 0a5.5 5.5 0 1 0 -11 0z'} />
    </svg>
  );
}
