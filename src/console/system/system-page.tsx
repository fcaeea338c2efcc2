import { useState } from "preact/hooks";
import type { JsonFrom } from "../../operator/operator-table.ts";
import type { OverviewJson } from "../../operator/responses.ts";
import { useConsole } from "../console.ts";
import { ErrorNotice, LoadingCard } from "../parts/content-states.tsx";
import { Button } from "../parts/controls.tsx";
import { useLive, useLoad } from "../parts/hooks.ts";
import { Link } from "../parts/link.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { Panel } from "../parts/panel.tsx";
import { Release, Size, StateLine } from "../parts/state-line.tsx";
import { RowGroup, TableHead } from "../parts/table.tsx";
import { Backups } from "./backups.tsx";

/** The state of the service, backups and settings. */
export function SystemPage() {
  const { me } = useConsole().session;
  const configured = useLoad("/api/settings", {});
  const { value: overview, error: overviewError, isLoading, isStale } = useLive("/api/overview", {});
  return (
    <>
      <PageHead title="System" lead={overview === undefined ? "…" : <Release overview={overview} />}>
        <Link class="button" href="/audit">
          Audit
        </Link>
        <a class="button" href={`${me.publicUrl}/docs`}>
          API docs
        </a>
      </PageHead>
      <ErrorNotice error={configured.error} />
      <div class="stack">
        {isLoading && <LoadingCard lines={1} />}
        {overview === undefined && <ErrorNotice error={overviewError} />}
        {overview !== undefined && (
          <div class={isStale ? "stale" : ""}>
            <StoreFiles overview={overview} />
          </div>
        )}
        <Backups />
        {configured.isLoading && <LoadingCard lines={5} />}
        {configured.value !== undefined && <Settings settings={configured.value.settings} />}
      </div>
    </>
  );
}

/** The state of the store, its files and its disk. */
function StoreFiles({ overview }: { readonly overview: OverviewJson }) {
  const { bytes, walBytes, diskFreeBytes } = overview.store;
  return (
    <StateLine overview={overview} good="Plants can be stored">
      <Size name="Data file" bytes={bytes} />
      <Size name="WAL" bytes={walBytes} />
      <Size name="Disk space free" bytes={diskFreeBytes} />
    </StateLine>
  );
}

const columns = ["Setting", "Value"];
const sourceLabels: Readonly<Record<string, string>> = {
  flag: "from its flag",
  environment: "from the environment",
  file: "from a file",
  default: "default",
};

/** The settings that differ from their default, under the headings of `serve --help`; a button shows the others too. */
function Settings({ settings }: { readonly settings: JsonFrom<"GET /api/settings">["settings"] }) {
  const [isAllShown, setIsAllShown] = useState(false);
  const changed = settings.filter(({ source }) => source !== "default");
  const shown = isAllShown ? settings : changed;
  return (
    <Panel
      id="settings-title"
      title="Current settings"
      aside={
        <Button aria-expanded={isAllShown} onClick={() => setIsAllShown(!isAllShown)}>
          {isAllShown ? "Show changed" : `Show all ${settings.length}`}
        </Button>
      }
    >
      <p class="note">
        {shown.length === 0 && "Every setting has its default. "}
        To change one, set its flag or variable and restart.
      </p>
      {shown.length > 0 && (
        <table class="listed system-table settings" aria-labelledby="settings-title">
          <TableHead columns={columns} />
          {Array.from(
            Map.groupBy(shown, ({ group }) => group),
            ([group, ofGroup]) => (
              <RowGroup key={group} title={group} columns={columns.length}>
                {ofGroup.map(({ name, meaning, value, source }) => (
                  <tr key={name}>
                    <th scope="row">
                      <code>{name}</code> <span class="note">{meaning}</span>
                    </th>
                    <td>
                      {value === "" ? <span class="note">none</span> : <code>{value}</code>}{" "}
                      <span class="note">{sourceLabels[source] ?? source}</span>
                    </td>
                  </tr>
                ))}
              </RowGroup>
            ),
          )}
        </table>
      )}
    </Panel>
  );
}
