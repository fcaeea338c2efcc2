import { useState } from "preact/hooks";
import { isNoResponse } from "../api.ts";
import type { Overview } from "../api-shapes.ts";
import { AddPlantButton } from "../parts/add-plant-button.tsx";
import { FirstPlant } from "../parts/first-plant.tsx";
import { Link } from "../parts/link.tsx";
import { ErrorNotice } from "../parts/notice.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { Panel, Skeleton } from "../parts/panel.tsx";
import { createScope, hasScope, useSession } from "../session.ts";
import { chartRanges } from "./chart-ranges.ts";
import { KeyNumbers } from "./key-numbers.tsx";
import { LatestPlants } from "./latest-plants.tsx";
import { RateChart } from "./rate-chart.tsx";
import { Refusals } from "./refusals.tsx";
import { StatusStrip } from "./status-strip.tsx";
import { useOverview } from "./use-overview.ts";

const defaultRange = "3 h";

export function OverviewPage() {
  const { me } = useSession();
  const { overview, staleSince, error, refresh } = useOverview();
  return (
    <div class="overview">
      <PageHead title="Overview">
        {hasScope(me, createScope) && (
          <Link class="button wide-only" href="/import">
            Import
          </Link>
        )}
        <AddPlantButton />
      </PageHead>
      {/* The frame says that there is no connection, and the figures say when they were read. */}
      {error !== undefined && (overview === undefined || !isNoResponse(error)) && (
        <ErrorNotice error={error} onRetry={refresh} />
      )}
      {overview === undefined ? (
        error === undefined && <Loading />
      ) : (
        <Figures overview={overview} staleSince={staleSince} onNewPlants={refresh} />
      )}
    </div>
  );
}

interface FiguresProps {
  readonly overview: Overview;
  readonly staleSince: string | undefined;
  readonly onNewPlants: () => void;
}

function Figures({ overview, staleSince, onNewPlants }: FiguresProps) {
  const ranges = chartRanges(overview);
  const [label, setLabel] = useState(defaultRange);
  const range = ranges.find((one) => one.label === label) ?? ranges.at(-1);
  const recent = ranges.findLast(({ unit }) => unit === "minute");
  const refusals = <Refusals overview={overview} staleSince={staleSince} />;
  if (overview.total === "0")
    return (
      <>
        {staleSince === undefined && <StatusStrip overview={overview} />}
        <FirstPlant />
        {overview.refusals.length > 0 && refusals}
      </>
    );
  return (
    <>
      {staleSince === undefined && <StatusStrip overview={overview} />}
      <KeyNumbers overview={overview} recent={recent} />
      <Panel
        id="chart-title"
        title={`Plants per ${range?.unit ?? "minute"}`}
        staleSince={staleSince}
        aside={
          <fieldset class="choice" aria-label="Time range">
            {ranges.map((one) => (
              <button
                key={one.label}
                type="button"
                aria-pressed={one === range}
                onClick={() => setLabel(one.label)}
              >
                {one.label}
              </button>
            ))}
          </fieldset>
        }
      >
        {range === undefined ? (
          <p class="note">Currently unavailable. See the service's log for the reason.</p>
        ) : (
          <RateChart range={range} startedAt={overview.startedAt} />
        )}
      </Panel>
      <div class="columns">
        <LatestPlants staleSince={staleSince} onNew={onNewPlants} />
        {refusals}
      </div>
    </>
  );
}

function Loading() {
  return (
    <div class="stack" aria-busy="true">
      <div class="card panel">
        <Skeleton lines={1} />
      </div>
      <div class="card panel">
        <Skeleton lines={4} />
      </div>
      <div class="card panel">
        <Skeleton lines={8} />
      </div>
    </div>
  );
}
