import { useRef, useState } from "preact/hooks";
import type { OverviewJson } from "../../operator/responses.ts";
import { formatCount } from "../../text/counts.ts";
import { useConsole } from "../console.ts";
import { isServerError } from "../error-numbers.ts";
import { formatCondition, formatShare } from "../format.ts";
import { ErrorNotice, LoadingCard } from "../parts/content-states.tsx";
import { FirstPlant } from "../parts/first-plant.tsx";
import { useLive, useUnlessRead } from "../parts/hooks.ts";
import { Link } from "../parts/link.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { Panel } from "../parts/panel.tsx";
import { PlantText, Tag } from "../parts/plant-text.tsx";
import { Release, Size, StateLine } from "../parts/state-line.tsx";
import { RelativeTime, ShortTime } from "../parts/time.tsx";
import { AddPlantButton } from "../plants/add-plant.tsx";
import { pagePath, refusalsHref, senderKey, senderName } from "../refused/refusal-filter.ts";
import { chartRanges } from "./chart-data.ts";
import { KeyNumbers } from "./key-numbers.tsx";
import { RateChart } from "./rate-chart.tsx";

const plantsListed = 10;
// Together with the bars of a few errors, about as high as the latest plants.
const sendersListed = 5;
const defaultRange = "3 h";

export function OverviewPage() {
  const { value: overview, error, isLoading, isStale } = useLive("/api/overview", {});
  return (
    <div class={isStale ? "stack stale" : "stack"}>
      <PageHead title="Overview">
        <AddPlantButton />
      </PageHead>
      <ErrorNotice error={error} />
      {overview !== undefined && !isStale && <StoreSummary overview={overview} />}
      {overview !== undefined && <Figures overview={overview} />}
      {isLoading && [1, 4, 8].map((lines) => <LoadingCard key={lines} lines={lines} />)}
    </div>
  );
}

interface FiguresProps {
  readonly overview: OverviewJson;
}

function Figures({ overview }: FiguresProps) {
  const ranges = chartRanges(overview);
  const [label, setLabel] = useState(defaultRange);
  const shown = ranges.find((range) => range.label === label) ?? ranges.at(-1);
  const hasRefused = overview.refusals.length > 0;
  const refusals = <Refusals overview={overview} />;
  if (overview.total === "0")
    return (
      <>
        <FirstPlant />
        {hasRefused && refusals}
      </>
    );
  return (
    <>
      <KeyNumbers overview={overview} recent={ranges.findLast(({ unit }) => unit === "minute")} />
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
      <div class={hasRefused ? "columns" : "stack"}>
        <LatestPlants />
        {refusals}
      </div>
    </>
  );
}

/** Whether plants can be stored, the size of the store, the last backup, and the version. */
function StoreSummary({ overview }: FiguresProps) {
  const { engine, bytes, walBytes = 0, lastBackupAt } = overview.store;
  // A PostgreSQL may be set to acknowledge what is not on its disk yet.
  const stored = engine === "sqlite" ? "All plants are on disk" : "All plants are stored";
  return (
    <StateLine overview={overview} good={overview.total === "0" ? "Ready for the first plant" : stored}>
      <Size name="Store" bytes={bytes === undefined ? undefined : bytes + walBytes} />
      {/* Undefined on PostgreSQL, which has its own backups. */}
      {lastBackupAt === null && <span>No backup yet</span>}
      {lastBackupAt && (
        <span>
          Last backup{" "}
          <b>
            <RelativeTime at={lastBackupAt} />
          </b>
        </span>
      )}
      <Release overview={overview} />
    </StateLine>
  );
}

/** The newest plants, live, unless someone points at them. */
function LatestPlants() {
  const { value: newest } = useLive("/api/plants", { limit: String(plantsListed) });
  const list = useRef<HTMLUListElement>(null);
  const plants = useUnlessRead(newest, list)?.plants;
  return (
    <Panel
      id="latest-title"
      title="Latest plants"
      loading={plants === undefined}
      aside={<Link href="/plants">See all</Link>}
    >
      <ul class="latest" ref={list}>
        {plants?.map((plant) => (
          <li key={plant.id}>
            <Link href={`/plants/${plant.id}`}>
              <PlantText text={plant.name} empty="(empty name)" />
            </Link>
            <span>{plant.tag !== undefined && <Tag tag={plant.tag} />}</span>
            <ShortTime at={plant.createdAt} />
          </li>
        ))}
      </ul>
    </Panel>
  );
}

/** What was refused since the service started, by reason, the most frequent first. A bar is as long as its share. */
function Refusals({ overview: { refusals, startedAt } }: FiguresProps) {
  const mayLookUp = useConsole().session.may("operator");
  const whole = refusals.reduce((sum, { count }) => sum + count, 0);
  return (
    <Panel
      id="refusals-title"
      title="Refused"
      aside={
        <div class="line">
          <span class="note">
            since the start, <ShortTime at={startedAt} />
          </span>
          {mayLookUp && <Link href={pagePath}>See who</Link>}
        </div>
      }
    >
      {whole === 0 ? (
        <p class="note">Nothing was refused. Requests with an error appear here, with their reason.</p>
      ) : (
        <ol class="bars">
          {refusals.map(({ error, reason, count }) => (
            <li key={error}>
              <span class="bar-name">
                {mayLookUp ? <Link href={refusalsHref({ error })}>{error}</Link> : error}{" "}
                {formatCondition(reason)}
              </span>
              <span class={isServerError(error) ? "meter bad" : "meter"}>
                <span style={{ width: `${(count / whole) * 100}%` }} />
              </span>
              <span class="note">
                {formatCount(count)} ({formatShare(count / whole)})
              </span>
            </li>
          ))}
        </ol>
      )}
      {mayLookUp && whole > 0 && <LastRefused />}
    </Panel>
  );
}

/** Who was refused last, live, unless someone points at it. */
function LastRefused() {
  const { value: newest } = useLive("/api/refusals", { limit: String(sendersListed) });
  const list = useRef<HTMLUListElement>(null);
  const senders = useUnlessRead(newest, list)?.refusals;
  return (
    <>
      <h3 class="note">Refused last</h3>
      <ul class="latest" ref={list}>
        {senders?.map((sender) => (
          <li key={`${sender.error} ${senderKey(sender)}`}>
            <Link href={refusalsHref({ ...sender, error: "" })}>{senderName(sender)}</Link>
            <span class="note">{sender.error}</span>
            <ShortTime at={sender.lastAt} />
          </li>
        ))}
      </ul>
    </>
  );
}
