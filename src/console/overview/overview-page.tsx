import { useState } from "preact/hooks";
import type { Overview } from "../api-shapes.ts";
import { formatBytes, formatCount, formatRate, formatRelativeTime, formatTime } from "../format.ts";
import { ErrorNotice } from "../parts/notice.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { LatestPlants } from "./latest-plants.tsx";
import { LiveTotal } from "./live-total.tsx";
import { RateChart } from "./rate-chart.tsx";
import { TopTags } from "./top-tags.tsx";
import { useOverview } from "./use-overview.ts";

export function OverviewPage() {
  const { overview, error, refresh } = useOverview();
  return (
    <>
      <PageHead
        title="Overview"
        lead={
          overview && (
            <>
              Version {overview.version}, started{" "}
              <time dateTime={overview.startedAt} title={formatTime(overview.startedAt)}>
                {formatRelativeTime(overview.startedAt)}
              </time>
            </>
          )
        }
      />
      {error !== undefined && <ErrorNotice error={error} onRetry={refresh} />}
      {overview === undefined ? (
        <div class="cards" aria-busy={error === undefined} />
      ) : (
        <Cards overview={overview} />
      )}
    </>
  );
}

function Cards({ overview }: { readonly overview: Overview }) {
  const [hours, setHours] = useState(3);
  const { total, ratePerSecond, perMinute } = overview;
  return (
    <div class="cards">
      <section class="card figure lead-figure" aria-labelledby="total-title">
        <h2 id="total-title">Plants in the store</h2>
        {total === undefined ? <Unavailable /> : <LiveTotal known={Number(total)} />}
      </section>
      <section class="card figure" aria-labelledby="rate-title">
        <h2 id="rate-title">Current rate</h2>
        {ratePerSecond === undefined ? (
          <Unavailable />
        ) : (
          <p class="number">
            {formatRate(ratePerSecond)} <small>per second</small>
          </p>
        )}
        {perMinute && <p class="note">Peak per minute: {formatCount(Math.max(...perMinute.creates))}</p>}
      </section>
      <Health store={overview.store} />
      <section class="card chart-card" aria-labelledby="chart-title">
        <div class="card-head">
          <h2 id="chart-title">Plants per minute</h2>
          <fieldset class="choice" aria-label="Time range">
            {[1, 3].map((choice) => (
              <button
                key={choice}
                type="button"
                aria-pressed={choice === hours}
                onClick={() => setHours(choice)}
              >
                {choice} h
              </button>
            ))}
          </fieldset>
        </div>
        {perMinute === undefined ? <Unavailable /> : <RateChart perMinute={perMinute} minutes={hours * 60} />}
      </section>
      <TopTags topTags={overview.topTags} total={Number(total)} />
      <LatestPlants />
    </div>
  );
}

function Unavailable() {
  return <p class="note">Currently unavailable. See the service's log for the reason.</p>;
}

function Health({ store }: { readonly store: Overview["store"] }) {
  const engine = store.engine === "sqlite" ? "SQLite" : "PostgreSQL";
  return (
    <section class="card figure" aria-labelledby="store-title">
      <h2 id="store-title">Store</h2>
      <p class={store.ready ? "number health good" : "number health bad"}>
        {store.ready ? "Healthy" : "Unavailable"}
      </p>
      {store.ready ? (
        <p class="note">
          {engine}
          {store.bytes !== undefined &&
            `, ${formatBytes(store.bytes)} plus a WAL of ${formatBytes(store.walBytes ?? 0)}`}
          {store.diskFreeBytes !== undefined && (
            <>
              <br />
              {formatBytes(store.diskFreeBytes)} free on the disk
            </>
          )}
          <LastBackup at={store.lastBackupAt} />
        </p>
      ) : (
        <p class="note">
          It cannot be written. See the service's log for the reason
          {store.diskFreeBytes !== undefined && `; ${formatBytes(store.diskFreeBytes)} free on the disk`}.
          <LastBackup at={store.lastBackupAt} />
        </p>
      )}
      {store.bytes !== undefined && store.diskFreeBytes !== undefined && (
        <DiskMeter bytes={store.bytes + (store.walBytes ?? 0)} free={store.diskFreeBytes} />
      )}
    </section>
  );
}

/** Nothing on PostgreSQL, which has backups of its own. */
function LastBackup({ at }: { readonly at: string | null | undefined }) {
  if (at === undefined) return null;
  return (
    <>
      <br />
      {at === null ? (
        "No backup yet"
      ) : (
        <>
          Last backup{" "}
          <time dateTime={at} title={formatTime(at)}>
            {formatRelativeTime(at)}
          </time>
        </>
      )}
    </>
  );
}

function DiskMeter({ bytes, free }: { readonly bytes: number; readonly free: number }) {
  const share = bytes / (bytes + free);
  return (
    <div
      class="meter"
      role="img"
      aria-label={`The store uses ${(share * 100).toFixed(1)} percent of the available disk space.`}
    >
      <span style={{ width: `${Math.max(share * 100, 0.5)}%` }} />
    </div>
  );
}
