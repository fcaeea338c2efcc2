import type { ComponentChildren } from "preact";
import { useRef, useState } from "preact/hooks";
import { formatAxis, formatCount, formatPlural } from "../format.ts";
import { useResize } from "../parts/hooks.ts";
import {
  type ChartRange,
  type Count,
  formatStep,
  peak,
  type Scale,
  scaleOf,
  startedWithin,
  sum,
  timeTicks,
} from "./chart-data.ts";

interface RateChartProps {
  readonly range: ChartRange;
  readonly startedAt: string;
}

const createdLines = 4;
const noScale: Scale = [0];
const barPxMin = 2;
const barPxMax = 8;
// Of a step's width.
const barShare = 0.6;
// A label this close to an end would reach past it.
const labelEdgePx = 24;

/** Plants created over time, and what was refused, in a band of its own with its own scale. */
export function RateChart({ range, startedAt }: RateChartProps) {
  const plot = useRef<HTMLDivElement>(null);
  const [widthPx, setWidthPx] = useState(0);
  useResize(plot, ({ clientWidth }) => setWidthPx(clientWidth));
  const [hovered, setHovered] = useState<number>();
  const { times, creates, drawn, refusals, unit } = range;
  const last = Math.max(times.length - 1, 1);
  const created = sum(creates);
  const most = formatCount(peak(creates));
  const barPx = Math.min(barPxMax, Math.max(barPxMin, (widthPx / last) * barShare));
  return (
    <figure>
      <div
        ref={plot}
        class="plot"
        role="img"
        aria-label={`In the ${range.period}, ${formatPlural(created, "plant")} ${created === 1 ? "was" : "were"} created, at most ${most} per ${unit}.`}
        onPointerMove={(event) => {
          const { left, width } = event.currentTarget.getBoundingClientRect();
          setHovered(Math.round(Math.min(1, Math.max(0, (event.clientX - left) / width)) * last));
        }}
        onPointerLeave={() => setHovered(undefined)}
      >
        <Band kind="created" scale={scaleOf(drawn, createdLines)} last={last}>
          {(top) => <Area counts={drawn} top={top} />}
        </Band>
        <Band kind="refused" scale={peak(refusals) === 0 ? noScale : scaleOf(refusals, 1)} last={last}>
          {(top) => <Bars counts={refusals} top={top} widthPx={barPx} />}
        </Band>
        <div class="ticks">
          {timeTicks(times, widthPx).map(({ at, label, isDay }) => (
            <span
              key={at}
              class={isDay ? "day" : ""}
              style={{ left: `${at * 100}%`, translate: shift(at * widthPx, widthPx) }}
            >
              {label}
            </span>
          ))}
        </div>
        {hovered !== undefined && <Tip range={range} index={hovered} at={hovered / last} />}
      </div>
      <figcaption class="legend">
        <span class="key-created">Created {formatCount(created)}</span>
        <span class="key-refused">
          Refused {formatCount(sum(refusals))}
          {startedWithin(range, startedAt) && " since the start"}
        </span>
        <span>
          Peak {most} per {unit}
        </span>
      </figcaption>
    </figure>
  );
}

interface BandProps {
  readonly kind: "created" | "refused";
  readonly scale: Scale;
  /** The index of the last step. */
  readonly last: number;
  readonly children: (top: number) => ComponentChildren;
}

/** A plot with a grid, as wide as its steps, and 1 high. */
function Band({ kind, scale, last, children }: BandProps) {
  const top = scale.at(-1) || 1;
  const labels = formatAxis(scale);
  return (
    <div class={`band ${kind}`}>
      {scale.map((value, line) => (
        <span key={value} class="grid-line" style={{ bottom: `${(value / top) * 100}%` }}>
          <span>
            {labels[line]} {line === scale.length - 1 && kind}
          </span>
        </span>
      ))}
      <svg viewBox={`0 0 ${last} 1`} preserveAspectRatio="none" aria-hidden="true">
        {children(top)}
      </svg>
    </div>
  );
}

interface CountsProps {
  readonly counts: readonly Count[];
  /** The count at the top of the plot. */
  readonly top: number;
}

/** A line with the area under it, where counts are known. */
export function Area({ counts, top }: CountsProps) {
  const points = counts.flatMap((count, step) => (count === undefined ? [] : [`${step} ${1 - count / top}`]));
  if (points.length === 0) return null;
  const line = `M${points.join("L")}`;
  return (
    <>
      <path class="area" d={`${line}V1H${firstKnown(counts)}Z`} />
      <path d={points.length === 1 ? `${line}V1` : line} />
    </>
  );
}

/** A bar for each count, on a base line that begins where counts are known. */
function Bars({ counts, top, widthPx }: CountsProps & { readonly widthPx: number }) {
  const bars = counts.map((count, step) => (count ? `M${step} 1V${1 - count / top}` : "")).join("");
  return (
    <>
      <path d={`M${firstKnown(counts)} 1H${counts.length - 1}`} />
      <path class="bars-of" d={bars} style={{ strokeWidth: `${widthPx}px` }} />
    </>
  );
}

interface TipProps {
  readonly range: ChartRange;
  readonly index: number;
  readonly at: number;
}

function Tip({ range, index, at }: TipProps) {
  const [created, refused] = [range.creates[index], range.refusals[index]];
  const soFar = index === range.times.length - 1 ? ", so far" : "";
  // On the side of the point that has more space.
  const translate = at > 0.5 ? "calc(-100% - 12px)" : "12px";
  return (
    <div class="chart-cursor" style={{ left: `${at * 100}%` }} aria-hidden="true">
      <div class="chart-tip" style={{ translate }}>
        <span>
          {formatStep(range.times[index] ?? 0, range.unit)}
          {soFar}
        </span>
        <span class="key-created">
          {created === undefined ? "no plant yet" : `${formatCount(created)} created`}
        </span>
        <span class="key-refused">
          {refused === undefined ? "refusals unknown" : `${formatCount(refused)} refused`}
        </span>
      </div>
    </div>
  );
}

function firstKnown(counts: readonly Count[]): number {
  return counts.findIndex((count) => count !== undefined);
}

/** A label is centred on its tick, unless it would be cut. */
function shift(xPx: number, widthPx: number): string {
  if (xPx < labelEdgePx) return "0";
  return xPx > widthPx - labelEdgePx ? "-100%" : "-50%";
}
