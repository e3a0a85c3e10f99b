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
