import { type Count, sum } from "./chart-ranges.ts";

interface TrendProps {
  readonly values: readonly Count[];
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
  const known = points.filter(isKnown);
  const low = fromZero ? 0 : Math.min(...known);
  const span = Math.max(...known) - low || 1;
  const xOf = (at: number) => ((at / Math.max(points.length - 1, 1)) * width).toFixed(1);
  const yOf = (value: number) => (height - ((value - low) / span) * (height - 2)).toFixed(1);
  const [start, end] = [points.findIndex(isKnown), points.findLastIndex(isKnown)].map(xOf);
  const path = points
    .flatMap((value, at) => (value === undefined ? [] : [`${xOf(at)} ${yOf(value)}`]))
    .join("L");
  return (
    <svg
      class={`trend ${kind}`}
      viewBox={`0 0 ${width} ${height}`}
      preserveAspectRatio="none"
      aria-hidden="true"
    >
      {path !== "" && <path class="area" d={`M${start} ${height}L${path}L${end} ${height}Z`} />}
      {path !== "" && <path d={`M${path}`} />}
    </svg>
  );
}

function isKnown(count: Count): count is number {
  return count !== undefined;
}

/** Averages neighbours to smooth the line. */
function condense(values: readonly Count[]): readonly Count[] {
  const size = Math.ceil(values.length / pointsMax);
  if (size <= 1) return values;
  return Array.from({ length: Math.ceil(values.length / size) }, (_, at) => {
    const group = values.slice(at * size, (at + 1) * size).filter(isKnown);
    return group.length === 0 ? undefined : sum(group) / group.length;
  });
}
