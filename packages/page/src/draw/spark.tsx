import { extent } from 'd3-array';
import { scaleLinear } from 'd3-scale';

const [width, height, edge] = [110, 24, 3];

/** Draws how a mean went, with a gap where there was no news, and a point at its end. */
export function Spark({ values, label }: { values: readonly (number | null)[]; label: string }) {
  const x = scaleLinear([0, values.length - 1], [edge, width - edge]);
  const [least = 0, most = 0] = extent(values.filter((value) => value !== null));
  const y = scaleLinear([least, most], [height - edge, edge]);
  const at = (value: number, place: number) => `${x(place).toFixed(1)} ${y(value).toFixed(1)}`;
  const path = values.map((value, place) => {
    if (value === null) return '';
    return `${place === 0 || values[place - 1] === null ? 'M' : 'L'}${at(value, place)}`;
  });
  const last = values.at(-1);
  return (
    <svg
      class="spark"
      role="img"
      aria-label={label}
      viewBox={`0 0 ${width} ${height}`}
      width={width}
      height={height}
    >
      <path d={path.join('')} stroke-width={1.5} />
      {typeof last === 'number' && (
        <circle cx={x(values.length - 1)} cy={y(last)} r={2.5} fill="currentColor" stroke="none" />
      )}
    </svg>
  );
}
