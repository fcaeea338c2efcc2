import { useState } from "preact/hooks";
import type { Overview } from "../api-shapes.ts";
import { count, fromNow, moment, rate, size } from "../format.ts";
import { Trouble } from "../parts/notice.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { LatestPlants } from "./latest-plants.tsx";
import { LiveTotal } from "./live-total.tsx";
import { RateChart } from "./rate-chart.tsx";
import { TopTags } from "./top-tags.tsx";
import { useOverview } from "./use-overview.ts";

export function OverviewPage() {
  const { overview, trouble, refresh } = useOverview();
  return (
    <>
      <PageHead
        title="Overview"
        lead={
          overview && (
            <>
              Version {overview.version}, started{" "}
              <time dateTime={overview.startedAt} title={moment(overview.startedAt)}>
                {fromNow(overview.startedAt)}
              </time>
            </>
          )
        }
      />
      {trouble !== undefined && <Trouble reason={trouble} onRetry={refresh} />}
      {overview === undefined ? (
        <div class="cards" aria-busy={trouble === undefined} />
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
        {total === undefined ? <Unread /> : <LiveTotal known={Number(total)} />}
      </section>
      <section class="card figure" aria-labelledby="rate-title">
        <h2 id="rate-title">Rate now</h2>
        {ratePerSecond === undefined ? (
          <Unread />
        ) : (
          <p class="number">
            {rate(ratePerSecond)} <small>a second</small>
          </p>
        )}
        {perMinute && <p class="note">Busiest minute lately: {count(Math.max(...perMinute.creates))}</p>}
      </section>
      <Health store={overview.store} />
      <section class="card chart-card" aria-labelledby="chart-title">
        <div class="card-head">
          <h2 id="chart-title">Plants a minute</h2>
          <fieldset class="choice" aria-label="Time shown">
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
        {perMinute === undefined ? <Unread /> : <RateChart perMinute={perMinute} minutes={hours * 60} />}
      </section>
      <TopTags topTags={overview.topTags} total={Number(total)} />
      <LatestPlants />
    </div>
  );
}

function Unread() {
  return <p class="note">Cannot be read at the moment. The service's log says why.</p>;
}

function Health({ store }: { readonly store: Overview["store"] }) {
  const engine = store.engine === "sqlite" ? "SQLite, one file" : "PostgreSQL";
  return (
    <section class="card figure" aria-labelledby="store-title">
      <h2 id="store-title">The store</h2>
      <p class={store.ready ? "number health good" : "number health bad"}>
        {store.ready ? "Healthy" : "Takes no plants"}
      </p>
      {store.ready ? (
        <p class="note">
          {engine}
          {store.bytes !== undefined && `, ${size(store.bytes)} and a WAL of ${size(store.walBytes ?? 0)}`}
          {store.diskFreeBytes !== undefined && (
            <>
              <br />
              {size(store.diskFreeBytes)} left on the disk
            </>
          )}
        </p>
      ) : (
        <p class="note">
          It cannot be written at the moment. The service's log says why
          {store.diskFreeBytes !== undefined && `; ${size(store.diskFreeBytes)} are left on the disk`}.
        </p>
      )}
      {store.bytes !== undefined && store.diskFreeBytes !== undefined && (
        <DiskMeter bytes={store.bytes + (store.walBytes ?? 0)} free={store.diskFreeBytes} />
      )}
    </section>
  );
}

function DiskMeter({ bytes, free }: { readonly bytes: number; readonly free: number }) {
  const share = bytes / (bytes + free);
  return (
    <div
      class="meter"
      role="img"
      aria-label={`The store takes ${(share * 100).toFixed(1)} percent of the room it could have.`}
    >
      <span style={{ width: `${Math.max(share * 100, 0.5)}%` }} />
    </div>
  );
}
