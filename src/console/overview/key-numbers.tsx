import type { ComponentChildren } from "preact";
import type { OverviewJson } from "../../operator/responses.ts";
import { formatCount } from "../../text/counts.ts";
import { formatBytes } from "../../text/sizes.ts";
import { useConsole } from "../console.ts";
import { Link } from "../parts/link.tsx";
import { RelativeTime } from "../parts/time.tsx";
import { describeDiskForecast } from "./disk-forecast.ts";

// Three digits, of which at most two are decimals: 0.0167 → "0.02", 1234.5 → "1,230".
const rateFormat = new Intl.NumberFormat("en", {
  maximumSignificantDigits: 3,
  maximumFractionDigits: 2,
  roundingPriority: "lessPrecision",
});

/** What the service has stored, how fast, and what it needs. */
export function KeyNumbers({ overview }: { readonly overview: OverviewJson }) {
  const { total, ratePerSecond, refused } = overview;
  const { diskFreeBytes, lastBackupAt } = overview.store;
  const { session } = useConsole();
  const sinceStart = `${formatCount(refused.sinceStart)} since the start`;
  return (
    <div class="card key-numbers">
      <KeyNumber title="Plants stored" value={total && formatCount(total)} />
      <KeyNumber
        title="Created per second"
        value={ratePerSecond === undefined ? undefined : rateFormat.format(ratePerSecond)}
        note="in the last minute"
      />
      <KeyNumber
        title="Refused per minute"
        value={formatCount(refused.inLastMinute)}
        note={session.may("operator") ? <Link href="/refused">{sinceStart}</Link> : sinceStart}
      />
      {diskFreeBytes !== undefined && (
        <KeyNumber
          title="Disk space free"
          value={formatBytes(diskFreeBytes)}
          note={describeDiskForecast(overview)}
        />
      )}
      {/* Undefined on PostgreSQL, which has its own backups. */}
      {lastBackupAt !== undefined && (
        <KeyNumber
          title="Last backup"
          value={lastBackupAt === null ? "none yet" : <RelativeTime at={lastBackupAt} />}
        />
      )}
    </div>
  );
}

interface KeyNumberProps {
  readonly title: string;
  /** Undefined if the service cannot read it. */
  readonly value: ComponentChildren;
  readonly note?: ComponentChildren;
}

function KeyNumber({ title, value, note }: KeyNumberProps) {
  return (
    <section class="key-number" aria-label={title}>
      <h2 class="note">{title}</h2>
      {value === undefined ? (
        <p class="note">Currently unavailable. See the service's log for the reason.</p>
      ) : (
        <p class="number">
          <span>{value}</span> {note && <small class="note">{note}</small>}
        </p>
      )}
    </section>
  );
}
