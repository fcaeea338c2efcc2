import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { Overview } from "../api-shapes.ts";
import { formatBytes, formatCount, formatRate, formatShare } from "../format.ts";
import { type ChartRange, type Count, peak, startedWithin, sum } from "./chart-data.ts";
import { Area } from "./rate-chart.tsx";

const countUpMs = 450;

interface KeyNumbersProps {
  readonly overview: Overview;
  /** The longest range of minutes. */
  readonly recent: ChartRange | undefined;
}

/** The large numbers, each with its trend. */
export function KeyNumbers({ overview, recent }: KeyNumbersProps) {
  const { total, ratePerSecond, store, startedAt } = overview;
  return (
    <div class="card kpis">
      <Kpi
        id="total"
        title="Plants stored"
        value={total === undefined ? undefined : <LiveTotal total={Number(total)} />}
        note={recent && `+${formatCount(sum(recent.creates))} in ${recent.label}`}
      >
        {recent && <Trend values={running(recent.creates)} />}
      </Kpi>
      <Kpi
        id="rate"
        title="Created per second"
        value={ratePerSecond === undefined ? undefined : formatRate(ratePerSecond)}
        note={recent && `peak ${formatRate(peak(recent.creates) / 60)} in ${recent.label}`}
      >
        {recent && <Trend values={recent.drawn} />}
      </Kpi>
      {recent && (
        <Kpi
          id="refused"
          title="Refused per minute"
          value={formatCount(recent.refusals.at(-1) ?? 0)}
          note={`${formatCount(sum(recent.refusals))} ${startedWithin(recent, startedAt) ? "since the start" : `in ${recent.label}`}`}
        >
          <Trend values={recent.refusals} kind="refused" />
        </Kpi>
      )}
      {store.diskFreeBytes !== undefined && (
        <Kpi id="disk" title="Disk space free" value={formatBytes(store.diskFreeBytes)}>
          <DiskMeter bytes={(store.bytes ?? 0) + (store.walBytes ?? 0)} free={store.diskFreeBytes} />
        </Kpi>
      )}
    </div>
  );
}

interface KpiProps {
  readonly id: string;
  readonly title: string;
  /** Undefined if the service cannot read it. */
  readonly value: ComponentChildren | undefined;
  readonly note?: string | undefined;
  readonly children?: ComponentChildren;
}

function Kpi({ id, title, value, note, children }: KpiProps) {
  return (
    <section class={`kpi kpi-${id}`} aria-labelledby={`${id}-title`}>
      <h2 id={`${id}-title`} class="note">
        {title}
      </h2>
      {value === undefined ? (
        <p class="note">Currently unavailable. See the service's log for the reason.</p>
      ) : (
        <p class="number">
          <span>{value}</span> {note && <small class="note">{note}</small>}
        </p>
      )}
      {children}
    </section>
  );
}

/** The number of plants, which counts up. */
function LiveTotal({ total }: { readonly total: number }) {
  const animated = useCountUp(total);
  return (
    <>
      <span aria-hidden="true">{formatCount(animated)}</span>
      <span class="visually-hidden">{formatCount(total)}</span>
    </>
  );
}

function useCountUp(target: number): number {
  const [value, setValue] = useState(target);
  useEffect(() => {
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) return setValue(target);
    const from = value;
    const startMs = performance.now();
    let frame = requestAnimationFrame(function step(nowMs) {
      const progress = Math.min((nowMs - startMs) / countUpMs, 1);
      setValue(Math.round(from + (target - from) * progress));
      if (progress < 1) frame = requestAnimationFrame(step);
    });
    return () => cancelAnimationFrame(frame);
  }, [target]);
  return value;
}

interface TrendProps {
  readonly values: readonly Count[];
  readonly kind?: "created" | "refused";
}

/** A line that shows the trend of the number next to it. */
function Trend({ values, kind = "created" }: TrendProps) {
  return (
    <svg
      class={`trend ${kind}`}
      viewBox={`0 0 ${values.length - 1} 1`}
      preserveAspectRatio="none"
      aria-hidden="true"
    >
      <Area counts={values} top={peak(values) || 1} />
    </svg>
  );
}

function DiskMeter({ bytes, free }: { readonly bytes: number; readonly free: number }) {
  const share = bytes / (bytes + free);
  return (
    <div
      class="meter"
      role="img"
      aria-label={`The store uses ${formatShare(share)} of the available disk space.`}
    >
      <span style={{ width: `${Math.max(share * 100, 0.5)}%` }} />
    </div>
  );
}

/** Running sums: how the total grew. */
function running(counts: readonly Count[]): readonly Count[] {
  let total = 0;
  return counts.map((count) => {
    total += count ?? 0;
    return count === undefined ? undefined : total;
  });
}
