import UPlot from "uplot";
import { formatAxis } from "../format.ts";

const chartHeightPx = 240;
const narrowHeightPx = 200;
const narrowPx = 520;
const axisGapPx = 16;
// A label is centred on its tick, so the last one reaches past the plot.
const rightPaddingPx = 24;
const yMaxMin = 4;
const daySeconds = 86_400;
// Plants are counted in whole numbers, so the axis is too.
const wholeSteps = Array.from({ length: 13 }, (_, power) =>
  [1, 2, 5].map((step) => step * 10 ** power),
).flat();

const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
const day = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });
const dayAndClock = new Intl.DateTimeFormat("en-GB", {
  weekday: "short",
  day: "numeric",
  month: "short",
  hour: "2-digit",
  minute: "2-digit",
});

export function chartSize(element: HTMLElement): { width: number; height: number } {
  return {
    width: element.clientWidth,
    height: element.clientWidth < narrowPx ? narrowHeightPx : chartHeightPx,
  };
}

/** A minute or hour of the chart, for its tooltip. */
export function formatStep(seconds: number, unit: "minute" | "hour"): string {
  return (unit === "minute" ? clock : dayAndClock).format(seconds * 1000);
}

export function chartOptions(
  element: HTMLElement,
  hasRefusals: boolean,
  onHover: (plot: UPlot) => void,
): UPlot.Options {
  const style = getComputedStyle(element);
  const { color: created, borderColor: line, outlineColor: soft, textDecorationColor: refused } = style;
  const smooth = UPlot.paths.spline?.();
  const bars = UPlot.paths.bars?.({ size: [0.6, 8] });
  const axis = { stroke: soft, font: `12px ${style.fontFamily}`, ticks: { show: false } };
  return {
    ...chartSize(element),
    legend: { show: false },
    padding: [8, rightPaddingPx, 0, 0],
    cursor: { y: false, points: { size: 8, fill: created, stroke: created } },
    scales: { y: { range: (_, __, max) => [0, Math.max(max * 1.08, yMaxMin)] } },
    series: [
      {},
      {
        stroke: created,
        width: 1.5,
        points: { show: false },
        fill: (plot) => verticalGradient(plot, created),
        ...(smooth === undefined ? {} : { paths: smooth }),
      },
      ...(hasRefusals ? [{ fill: refused, points: { show: false }, ...(bars && { paths: bars }) }] : []),
    ],
    axes: [
      {
        ...axis,
        grid: { show: false },
        size: 28,
        space: 72,
        values: (_, times, __, ___, step) =>
          times.map((time) => (step >= daySeconds ? day : clock).format(time * 1000)),
      },
      {
        ...axis,
        grid: { stroke: line, width: 1 },
        size: (plot, labels) => axisWidth(plot, labels, axis.font),
        space: 40,
        incrs: wholeSteps,
        values: (_, values) => formatAxis(values),
      },
    ],
    hooks: { setCursor: [onHover] },
  };
}

/** As wide as its longest label, at any magnitude. */
function axisWidth(plot: UPlot, labels: string[] | null, font: string): number {
  plot.ctx.save();
  plot.ctx.font = font;
  const widths = (labels ?? []).map((label) => plot.ctx.measureText(label).width);
  plot.ctx.restore();
  return Math.ceil(Math.max(0, ...widths)) + axisGapPx;
}

function verticalGradient({ ctx, bbox }: UPlot, colour: string): CanvasGradient {
  const gradient = ctx.createLinearGradient(0, bbox.top, 0, bbox.top + bbox.height);
  gradient.addColorStop(0, withAlpha(colour, 0.22));
  gradient.addColorStop(1, withAlpha(colour, 0.03));
  return gradient;
}

function withAlpha(rgb: string, alpha: number): string {
  const [red, green, blue] = rgb.match(/[\d.]+/g) ?? ["0", "0", "0"];
  return `rgba(${red}, ${green}, ${blue}, ${alpha})`;
}
