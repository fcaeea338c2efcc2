import { useState } from "preact/hooks";
import { formatCount, formatPlural } from "../../text/counts.ts";
import { type ChartRange, formatStep, scaleOf, sum, timeTicks } from "./chart-data.ts";

// 15000 → "15K".
const compactFormat = new Intl.NumberFormat("en", { notation: "compact" });

/** Plants created over time, and what was refused, in a band of its own with its own scale. */
export function RateChart({ range }: { readonly range: ChartRange }) {
  const [hovered, setHovered] = useState<number>();
  const { times, creates, drawn, refusals, unit } = range;
  const last = Math.max(times.length - 1, 1);
  const created = sum(creates);
  const most = formatCount(Math.max(...creates));
  return (
    <figure>
      <div
        class="plot"
        role="img"
        aria-label={`In the ${range.period}, ${formatPlural(created, "plant")} ${created === 1 ? "was" : "were"} created, at most ${most} per ${unit}.`}
        onPointerMove={(event) => {
          const { left, width } = event.currentTarget.getBoundingClientRect();
          setHovered(Math.round(Math.min(1, Math.max(0, (event.clientX - left) / width)) * last));
        }}
        onPointerLeave={() => setHovered(undefined)}
      >
        <Band kind="created" counts={drawn} linesMax={4} last={last} />
        <Band kind="refused" counts={refusals} linesMax={1} last={last} />
        <div class="ticks">
          {timeTicks(range).map(({ at, label, isDay }) => (
            // At either end of the chart, a label must not reach beyond it.
            <span
              key={at}
              class={isDay ? "day" : ""}
              style={{ left: `${at * 100}%`, translate: `-${at * 100}%` }}
            >
              {label}
            </span>
          ))}
        </div>
        {hovered !== undefined && <Tip range={range} index={hovered} at={hovered / last} />}
      </div>
      <figcaption class="line legend">
        <span class="swatch created">Created {formatCount(created)}</span>
        <span class="swatch refused">
          Refused {formatCount(sum(refusals))}
          {range.refusalsFrom > 0 && " since the start"}
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
  readonly counts: readonly number[];
  readonly linesMax: number;
  /** The index of the last step. */
  readonly last: number;
}

/** A plot with a grid, as wide as its steps, and 1 high: an area, or a bar for each count. */
function Band({ kind, counts, linesMax, last }: BandProps) {
  const scale = sum(counts) === 0 ? [0] : scaleOf(counts, linesMax);
  const top = scale.at(-1) || 1;
  const bars = counts.map((count, step) => (count > 0 ? `M${step} 1V${1 - count / top}` : "")).join("");
  return (
    <div class={`band ${kind}`}>
      {scale.map((value, line) => (
        <span key={value} class="grid-line" style={{ bottom: `${(value / top) * 100}%` }}>
          <span>
            {compactFormat.format(value)} {line === scale.length - 1 && kind}
          </span>
        </span>
      ))}
      <svg viewBox={`0 0 ${last} 1`} preserveAspectRatio="none" aria-hidden="true">
        {kind === "created" ? <Area counts={counts} top={top} /> : <path d={bars} />}
      </svg>
    </div>
  );
}

/** A line with the area under it. `top` is the count at the top of the plot. */
function Area({ counts, top }: { readonly counts: readonly number[]; readonly top: number }) {
  const line = `M${counts.map((count, step) => `${step} ${1 - count / top}`).join("L")}`;
  return (
    <>
      <path class="area" d={`${line}V1H0Z`} />
      <path d={line} />
    </>
  );
}

interface TipProps {
  readonly range: ChartRange;
  readonly index: number;
  readonly at: number;
}

function Tip({ range: { unit, times, creates, refusals, refusalsFrom }, index, at }: TipProps) {
  // The tooltip is on the side of the point that has more space.
  const translate = at > 0.5 ? "calc(-100% - 12px)" : "12px";
  return (
    <div class="chart-cursor" style={{ left: `${at * 100}%` }} aria-hidden="true">
      <div class="card chart-tip" style={{ translate }}>
        <span>
          {formatStep(times[index] ?? 0, unit)}
          {index === times.length - 1 && ", so far"}
        </span>
        <span class="swatch created">{formatCount(creates[index] ?? 0)} created</span>
        <span class="swatch refused">
          {index < refusalsFrom ? "refusals unknown" : `${formatCount(refusals[index] ?? 0)} refused`}
        </span>
      </div>
    </div>
  );
}
