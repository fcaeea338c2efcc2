import type { ComponentChildren } from "preact";
import type { OverviewJson } from "../../operator/responses.ts";
import { formatCount } from "../../text/counts.ts";
import { formatBytes } from "../../text/sizes.ts";
import { formatRate } from "../format.ts";
import { type ChartRange, sum } from "./chart-data.ts";
import { diskForecast } from "./disk-forecast.ts";
import { Area } from "./rate-chart.tsx";

interface KeyNumbersProps {
  readonly overview: OverviewJson;
  /** The longest range of minutes. */
  readonly recent: ChartRange | undefined;
}

/** The large numbers, each with its trend. */
export function KeyNumbers({ overview, recent }: KeyNumbersProps) {
  const { total, ratePerSecond } = overview;
  const { diskFreeBytes } = overview.store;
  const disk = diskForecast(overview);
  return (
    <div class="card key-numbers">
      <KeyNumber
        id="total"
        title="Plants stored"
        value={total && formatCount(total)}
        note={recent && `+${formatCount(sum(recent.creates))} in ${recent.label}`}
      >
        {recent && <Trend values={running(recent.creates)} />}
      </KeyNumber>
      <KeyNumber
        id="rate"
        title="Created per second"
        value={ratePerSecond === undefined ? undefined : formatRate(ratePerSecond)}
        note={recent && `peak ${formatRate(peakRate(recent, ratePerSecond))} in ${recent.label}`}
      >
        {recent && <Trend values={recent.drawn} />}
      </KeyNumber>
      {recent && (
        <KeyNumber
          id="refused"
          title="Refused per minute"
          value={formatCount(recent.refusals.at(-1) ?? 0)}
          note={`${formatCount(sum(recent.refusals))} ${recent.refusalsFrom > 0 ? "since the start" : `in ${recent.label}`}`}
        >
          <Trend values={recent.refusals} kind="refused" />
        </KeyNumber>
      )}
      {diskFreeBytes !== undefined && (
        <KeyNumber id="disk" title="Disk space free" value={formatBytes(diskFreeBytes)} note={disk?.text}>
          {disk && <Trend values={disk.freeBytes} />}
        </KeyNumber>
      )}
    </div>
  );
}

const minuteSeconds = 60;

/** The highest rate of a minute. That of the last 60 seconds may be above those of both clock minutes that they overlap. */
function peakRate({ creates }: ChartRange, ratePerSecond = 0): number {
  return Math.max(ratePerSecond, Math.max(...creates) / minuteSeconds);
}

interface KeyNumberProps {
  readonly id: string;
  readonly title: string;
  /** Undefined if the service cannot read it. */
  readonly value: string | undefined;
  readonly note?: string | undefined;
  readonly children?: ComponentChildren;
}

function KeyNumber({ id, title, value, note, children }: KeyNumberProps) {
  return (
    <section class={`key-number key-number-${id}`} aria-labelledby={`${id}-title`}>
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

/** A line that shows the trend of the number next to it. */
function Trend({ values, kind = "created" }: { readonly values: readonly number[]; readonly kind?: string }) {
  return (
    <svg
      class={`trend ${kind}`}
      viewBox={`0 0 ${values.length - 1} 1`}
      preserveAspectRatio="none"
      aria-hidden="true"
    >
      <Area counts={values} top={Math.max(1, ...values)} />
    </svg>
  );
}

/** Running sums: how the total grew. */
function running(counts: readonly number[]): readonly number[] {
  let total = 0;
  return counts.map((count) => {
    total += count;
    return total;
  });
}
