import { useState } from "preact/hooks";
import type { OverviewJson } from "../../operator/responses.ts";
import { ErrorNotice, LoadingCard, Panel } from "../parts/content-states.tsx";
import { FirstPlant } from "../parts/first-plant.tsx";
import { useLive, useUnlessRead } from "../parts/hooks.ts";
import { Link } from "../parts/link.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { PlantText, Tag } from "../parts/plant-text.tsx";
import { Table } from "../parts/table.tsx";
import { ShortTime } from "../parts/time.tsx";
import { AddPlantButton } from "../plants/add-plant.tsx";
import { chartRanges } from "./chart-data.ts";
import { KeyNumbers } from "./key-numbers.tsx";
import { RateChart } from "./rate-chart.tsx";
import { Senders } from "./senders.tsx";

const plantsListed = 10;
const nameCharactersMax = 60;
const defaultRange = "3 h";

export function OverviewPage() {
  const { value: overview, error, isLoading, isStale } = useLive("/api/overview", {});
  return (
    <div class={isStale ? "stack stale" : "stack"}>
      <PageHead title="Overview" lead={overview && !isStale && <State overview={overview} />}>
        <AddPlantButton />
      </PageHead>
      <ErrorNotice error={error} />
      {overview !== undefined && <Figures overview={overview} />}
      {isLoading && <LoadingCard />}
    </div>
  );
}

interface OverviewProps {
  readonly overview: OverviewJson;
}

/** Whether plants can be stored. */
function State({ overview: { store, total } }: OverviewProps) {
  if (!store.ready)
    return (
      <span class="line bad">
        <span class="dot bad" aria-hidden="true" /> The service is not ready. See its log for the reason.
      </span>
    );
  // A PostgreSQL may be set to acknowledge what is not on its disk yet.
  const stored =
    store.engine === "sqlite" ? "All plants are on disk." : "All plants are stored in PostgreSQL.";
  return (
    <span class="line">
      <span class="dot" aria-hidden="true" /> {total === "0" ? "Ready for the first plant." : stored}
    </span>
  );
}

function Figures({ overview }: OverviewProps) {
  const ranges = chartRanges(overview);
  const [label, setLabel] = useState(defaultRange);
  const shown = ranges.find((range) => range.label === label) ?? ranges.at(-1);
  if (overview.total === "0")
    return (
      <>
        <FirstPlant />
        <Senders />
      </>
    );
  return (
    <>
      <KeyNumbers overview={overview} />
      <Panel
        id="chart-title"
        title={`Plants per ${shown?.unit ?? "minute"}`}
        aside={
          <fieldset class="choice" aria-label="Time range">
            {ranges.map((range) => (
              <button
                key={range.label}
                type="button"
                aria-pressed={range === shown}
                onClick={() => setLabel(range.label)}
              >
                {range.label}
              </button>
            ))}
          </fieldset>
        }
      >
        {shown === undefined ? <p class="note">Not counted yet.</p> : <RateChart range={shown} />}
      </Panel>
      <div class="columns">
        <Senders />
        <LatestPlants />
      </div>
    </>
  );
}

/** The newest plants, live, unless someone points at them. */
function LatestPlants() {
  const { value: newest } = useLive("/api/plants", { limit: String(plantsListed) });
  const plants = useUnlessRead(newest, ".latest")?.plants;
  return (
    <Panel id="latest-title" title="Latest plants" loading={plants === undefined}>
      <Table class="latest wrap" aria-labelledby="latest-title" columns={["Plant", "Tag", "Created"]}>
        {plants?.map(({ id, name, tag, createdAt }) => (
          <tr key={id}>
            <th scope="row">
              <Link href={`/plants/${id}`}>
                <PlantText text={name} empty="(empty name)" charactersMax={nameCharactersMax} />
              </Link>
            </th>
            <td>{tag !== undefined && <Tag tag={tag} />}</td>
            <td>
              <ShortTime at={createdAt} />
            </td>
          </tr>
        ))}
      </Table>
    </Panel>
  );
}
