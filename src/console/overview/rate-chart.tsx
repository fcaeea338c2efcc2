import { useEffect, useRef, useState } from "preact/hooks";
import UPlot from "uplot";
import type { Overview } from "../api-shapes.ts";
import { count, plural } from "../format.ts";
import { useThemeTurn } from "../parts/theme.tsx";

interface RateChartProps {
  readonly perMinute: NonNullable<Overview["perMinute"]>;
  readonly minutes: number;
}

const chartHeightPx = 240;
const narrowHeightPx = 180;
const narrowPx = 520;

/** Plants stored in each of the last minutes. */
export function RateChart({ perMinute, minutes }: RateChartProps) {
  const holder = useRef<HTMLDivElement>(null);
  const chart = useRef<UPlot>(undefined);
  const [pointed, setPointed] = useState<string>();
  const themeTurn = useThemeTurn();
  const series = seriesOf(perMinute, minutes);
  const latest = useRef(series);
  latest.current = series;

  useEffect(() => {
    const place = holder.current;
    if (place === null) return;
    const made = new UPlot(optionsFor(place, setPointed), latest.current, place);
    chart.current = made;
    const follow = new ResizeObserver(() => made.setSize(sizeOf(place)));
    follow.observe(place);
    return () => {
      follow.disconnect();
      made.destroy();
    };
  }, [themeTurn]);
  useEffect(() => chart.current?.setData(seriesOf(perMinute, minutes)), [perMinute, minutes]);

  const counts = series[1];
  const sum = counts.reduce((total, value) => total + value, 0);
  const inWords = `In the last ${minutes / 60 === 1 ? "hour" : `${minutes / 60} hours`} ${count(sum)} plants were stored, at most ${count(Math.max(...counts))} in one minute.`;
  return (
    <figure class="chart">
      <div ref={holder} class="chart-holder" role="img" aria-label={inWords} />
      <figcaption>
        <p class="note">{pointed ?? inWords}</p>
      </figcaption>
    </figure>
  );
}

function seriesOf(
  { from, creates }: NonNullable<Overview["perMinute"]>,
  minutes: number,
): [number[], number[]] {
  const start = new Date(from).getTime() / 1000;
  // The running minute is not over; drawn too early it would look like a fall to nothing.
  const running = creates.at(-1) ?? 0;
  const shown = running < (creates.at(-2) ?? 0) ? creates.slice(0, -1) : creates;
  const times = shown.map((_, minute) => start + minute * 60);
  return [times.slice(-minutes), shown.slice(-minutes)];
}

function sizeOf(place: HTMLElement): { width: number; height: number } {
  return { width: place.clientWidth, height: place.clientWidth < narrowPx ? narrowHeightPx : chartHeightPx };
}

function optionsFor(place: HTMLElement, onPoint: (words: string | undefined) => void): UPlot.Options {
  const { color: accent, borderColor: line, outlineColor: soft, fontFamily } = getComputedStyle(place);
  const smooth = UPlot.paths.spline?.();
  const axis = { stroke: soft, font: `12px ${fontFamily}`, ticks: { show: false } };
  return {
    ...sizeOf(place),
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
        fill: (plot) => fading(plot.ctx, accent, plot.bbox.top, plot.bbox.top + plot.bbox.height),
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
        values: (_, values) => values.map(count),
      },
    ],
    hooks: { setCursor: [(plot) => onPoint(pointedMinute(plot))] },
  };
}

/** The words under the chart follow the pointer, and rest on the sum. */
function pointedMinute(plot: UPlot): string | undefined {
  const at = plot.cursor.idx;
  const time = at == null ? undefined : plot.data[0][at];
  const value = at == null ? undefined : plot.data[1]?.[at];
  return time === undefined || value == null ? undefined : `${clockTime(time)}: ${plural(value, "plant")}`;
}

function fading(
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
