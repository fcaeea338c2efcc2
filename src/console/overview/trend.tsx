interface TrendProps {
  readonly values: readonly number[];
  readonly kind?: "created" | "refused";
  /** Whether the line starts at zero, or at its lowest value. */
  readonly fromZero?: boolean;
}

const width = 200;
const height = 28;
const pointsMax = 60;

/** A sparkline that shows the trend of the number next to it. */
export function Trend({ values, kind = "created", fromZero = true }: TrendProps) {
  const points = condense(values);
  const low = fromZero ? 0 : Math.min(...points);
  const span = Math.max(...points) - low || 1;
  const path = points
    .map((value, at) => {
      const x = (at / Math.max(points.length - 1, 1)) * width;
      return `${x.toFixed(1)} ${(height - ((value - low) / span) * (height - 2)).toFixed(1)}`;
    })
    .join("L");
  return (
    <svg
      class={`trend ${kind}`}
      viewBox={`0 0 ${width} ${height}`}
      preserveAspectRatio="none"
      aria-hidden="true"
    >
      <path class="area" d={`M0 ${height}L${path}L${width} ${height}Z`} />
      <path d={`M${path}`} />
    </svg>
  );
}

/** Averages neighbours to smooth the line. */
function condense(values: readonly number[]): readonly number[] {
  const size = Math.ceil(values.length / pointsMax);
  if (size <= 1) return values.length === 0 ? [0, 0] : values;
  return Array.from({ length: Math.ceil(values.length / size) }, (_, at) => {
    const group = values.slice(at * size, (at + 1) * size);
    return group.reduce((sum, value) => sum + value, 0) / group.length;
  });
}
