import { useEffect, useRef, useState } from "preact/hooks";
import UPlot from "uplot";
import type { Overview } from "../api-shapes.ts";
import { formatCount, formatPlural } from "../format.ts";
import { useThemeVersion } from "../parts/theme.tsx";

interface RateChartProps {
  readonly perMinute: NonNullable<Overview["perMinute"]>;
  readonly minutes: number;
}

const chartHeightPx = 240;
const narrowHeightPx = 180;
const narrowPx = 520;

/** Plants stored per minute. */
export function RateChart({ perMinute, minutes }: RateChartProps) {
  const container = useRef<HTMLDivElement>(null);
  const chart = useRef<UPlot>(undefined);
  const [hovered, setHovered] = useState<string>();
  const themeVersion = useThemeVersion();
  const series = seriesOf(perMinute, minutes);
  const latest = useRef(series);
  latest.current = series;

  useEffect(() => {
    const element = container.current;
    if (element === null) return;
    const plot = new UPlot(optionsFor(element, setHovered), latest.current, element);
    chart.current = plot;
    const observer = new ResizeObserver(() => plot.setSize(sizeOf(element)));
    observer.observe(element);
    return () => {
      observer.disconnect();
      plot.destroy();
    };
  }, [themeVersion]);
  useEffect(() => chart.current?.setData(seriesOf(perMinute, minutes)), [perMinute, minutes]);

  const counts = series[1];
  const sum = counts.reduce((total, value) => total + value, 0);
  const summary = `In the last ${minutes / 60 === 1 ? "hour" : `${minutes / 60} hours`}, ${formatCount(sum)} plants were stored, at most ${formatCount(Math.max(...counts))} per minute.`;
  return (
    <figure class="chart">
      <div ref={container} class="chart-holder" role="img" aria-label={summary} />
      <figcaption>
        <p class="note">{hovered ?? summary}</p>
      </figcaption>
    </figure>
  );
}

function seriesOf(
  { from, creates }: NonNullable<Overview["perMinute"]>,
  minutes: number,
): [number[], number[]] {
  const start = new Date(from).getTime() / 1000;
  // The current minute is incomplete, and would look like a drop to zero.
  const current = creates.at(-1) ?? 0;
  const complete = current < (creates.at(-2) ?? 0) ? creates.slice(0, -1) : creates;
  const times = complete.map((_, minute) => start + minute * 60);
  return [times.slice(-minutes), complete.slice(-minutes)];
}

function sizeOf(element: HTMLElement): { width: number; height: number } {
  return {
    width: element.clientWidth,
    height: element.clientWidth < narrowPx ? narrowHeightPx : chartHeightPx,
  };
}

function optionsFor(element: HTMLElement, onHover: (text: string | undefined) => void): UPlot.Options {
  const { color: accent, borderColor: line, outlineColor: soft, fontFamily } = getComputedStyle(element);
  const smooth = UPlot.paths.spline?.();
  const axis = { stroke: soft, font: `12px ${fontFamily}`, ticks: { show: false } };
  return {
    ...sizeOf(element),
    legend: { show: false },
    padding: [12, 8, 0, 0],
    cursor: { y: false, points: { size: 8, fill: accent, stroke: accent } },
    scales: { y: { range: (_, __, max) => [0, Math.max(max * 1.1, 10)] } },
    series: [
      {},
      {
        stroke: accent,
        width: 2,
        points: { show: false },
        fill: (plot) => verticalGradient(plot.ctx, accent, plot.bbox.top, plot.bbox.top + plot.bbox.height),
        ...(smooth === undefined ? {} : { paths: smooth }),
      },
    ],
    axes: [
      { ...axis, grid: { show: false }, size: 30, space: 72, values: (_, times) => times.map(clockTime) },
      {
        ...axis,
        grid: { stroke: line, width: 1 },
        size: 52,
        space: 40,
        values: (_, values) => values.map(formatCount),
      },
    ],
    hooks: { setCursor: [(plot) => onHover(hoveredMinute(plot))] },
  };
}

/** The minute under the pointer, as text. */
function hoveredMinute(plot: UPlot): string | undefined {
  const at = plot.cursor.idx;
  const time = at == null ? undefined : plot.data[0][at];
  const value = at == null ? undefined : plot.data[1]?.[at];
  return time === undefined || value == null
    ? undefined
    : `${clockTime(time)}: ${formatPlural(value, "plant")}`;
}

function verticalGradient(
  context: CanvasRenderingContext2D,
  colour: string,
  top: number,
  bottom: number,
): CanvasGradient {
  const gradient = context.createLinearGradient(0, top, 0, bottom);
  gradient.addColorStop(0, withAlpha(colour, 0.28));
  gradient.addColorStop(1, withAlpha(colour, 0.02));
  return gradient;
}

function withAlpha(rgb: string, alpha: number): string {
  const [red, green, blue] = rgb.match(/[\d.]+/g) ?? ["0", "0", "0"];
  return `rgba(${red}, ${green}, ${blue}, ${alpha})`;
}

function clockTime(seconds: number): string {
  return new Date(seconds * 1000).toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" });
}
