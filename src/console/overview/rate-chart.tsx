import { useEffect, useRef, useState } from "preact/hooks";
import UPlot from "uplot";
import { formatCount, formatPlural } from "../format.ts";
import { useThemeVersion } from "../parts/theme.tsx";
import { chartOptions, chartSize, formatStep } from "./chart-options.ts";
import { type ChartRange, startedWithin, sum } from "./chart-ranges.ts";

interface RateChartProps {
  readonly range: ChartRange;
  readonly startedAt: string;
}

interface Hovered {
  readonly index: number;
  readonly leftPx: number;
  readonly topPx: number;
}

/** Plants created, and refused if the service counts them, over time. */
export function RateChart({ range, startedAt }: RateChartProps) {
  const container = useRef<HTMLDivElement>(null);
  const chart = useRef<UPlot>(undefined);
  const [hovered, setHovered] = useState<Hovered>();
  const themeVersion = useThemeVersion();
  const latest = useRef(range);
  latest.current = range;
  const hasRefusals = range.refusals !== undefined;

  useEffect(() => {
    const element = container.current;
    if (element === null) return;
    const onHover = (plot: UPlot): void => setHovered(hoveredPoint(plot));
    const plot = new UPlot(chartOptions(element, hasRefusals, onHover), dataOf(latest.current), element);
    chart.current = plot;
    let frame = 0;
    const observer = new ResizeObserver(() => {
      cancelAnimationFrame(frame);
      // Not now: on a phone the height changes too, which a browser reports as an error of the observer.
      frame = requestAnimationFrame(() => plot.setSize(chartSize(element)));
    });
    observer.observe(element);
    return () => {
      cancelAnimationFrame(frame);
      observer.disconnect();
      plot.destroy();
    };
  }, [themeVersion, hasRefusals]);
  useEffect(() => chart.current?.setData(dataOf(range)), [range]);

  const created = sum(range.creates);
  const summary = `In the ${range.period}, ${formatPlural(created, "plant")} ${created === 1 ? "was" : "were"} created, at most ${formatCount(Math.max(...range.creates))} per ${range.unit}.`;
  return (
    <figure class="chart">
      <div ref={container} class="chart-holder" role="img" aria-label={summary} />
      {hovered !== undefined && <Tip range={range} hovered={hovered} />}
      <figcaption class="legend">
        <span class="key-created">Created {formatCount(created)}</span>
        {range.refusals && (
          <span class="key-refused">
            Refused {formatCount(range.refused)}
            {startedWithin(range, startedAt) && " since the start"}
          </span>
        )}
        <span>
          Peak {formatCount(Math.max(...range.creates))} per {range.unit}
        </span>
      </figcaption>
    </figure>
  );
}

function Tip({ range, hovered }: { readonly range: ChartRange; readonly hovered: Hovered }) {
  const { index, leftPx, topPx } = hovered;
  const time = range.times[index];
  if (time === undefined) return null;
  // On the side of the point that has more space.
  const isLate = index > range.times.length / 2;
  const transform = `translate(${leftPx}px, ${topPx}px) translate(${isLate ? "calc(-100% - 12px)" : "12px"}, -50%)`;
  return (
    <div class="chart-tip" style={{ transform }} aria-hidden="true">
      <span>{formatStep(time, range.unit)}</span>
      <span class="key-created">{formatCount(range.creates[index] ?? 0)} created</span>
      {range.refusals && <span class="key-refused">{formatCount(range.refusals[index] ?? 0)} refused</span>}
    </div>
  );
}

function dataOf({ times, creates, refusals }: ChartRange): UPlot.AlignedData {
  return refusals === undefined ? [times, creates] : [times, creates, refusals];
}

/** The point under the pointer, in pixels of the figure. */
function hoveredPoint(plot: UPlot): Hovered | undefined {
  const { idx: index, left = -1 } = plot.cursor;
  const value = index == null ? undefined : plot.data[1]?.[index];
  if (index == null || value == null || left < 0) return undefined;
  const time = plot.data[0][index] ?? 0;
  return {
    index,
    leftPx: plot.over.offsetLeft + plot.valToPos(time, "x"),
    topPx: plot.over.offsetTop + plot.valToPos(value, "y"),
  };
}
