import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { OverviewJson, SettingsJson } from "../../operator/responses.ts";
import { formatBytes } from "../format.ts";
import { ErrorNotice } from "../parts/content-states.tsx";
import { Button } from "../parts/controls.tsx";
import { useLoad } from "../parts/hooks.ts";
import { PageHead } from "../parts/page-head.tsx";
import { Panel } from "../parts/panel.tsx";
import { TableHead } from "../parts/table-head.tsx";
import { RelativeTime } from "../parts/time.tsx";
import { useSession } from "../session.ts";
import { Backups } from "./backups.tsx";

/** Health, backups and settings. */
export function SystemPage() {
  const { me } = useSession();
  const { value, error } = useLoad<SettingsJson>("/api/settings");
  return (
    <>
      <PageHead title="System" lead="The health of the service, its backups, and its settings.">
        <a class="button" href={`${me.publicUrl}/docs`}>
          API docs
        </a>
      </PageHead>
      <ErrorNotice error={error} />
      <div class="stack">
        <Health />
        <Backups />
        <Settings settings={value?.settings} />
      </div>
    </>
  );
}

/** The state of the store, its files and its disk. */
function Health() {
  const { value: overview, error, isStale } = useLoad<OverviewJson>("/api/overview", true);
  return (
    <Panel
      id="health-title"
      title="Health"
      loading={overview === undefined && error === undefined}
      class={isStale ? "stale" : ""}
    >
      {overview === undefined ? (
        <ErrorNotice error={error} />
      ) : (
        <dl class="health-facts">
          {factsOf(overview).map(
            ([name, value]) =>
              value !== undefined && (
                <div key={name}>
                  <dt>{name}</dt>
                  <dd>{value}</dd>
                </div>
              ),
          )}
        </dl>
      )}
    </Panel>
  );
}

type Fact = readonly [name: string, value: ComponentChildren];

function factsOf({ store, version, startedAt }: OverviewJson): readonly Fact[] {
  const bytes = (count: number | undefined) => (count === undefined ? undefined : formatBytes(count));
  return [
    ["Store", store.ready ? "ready" : "not ready: plants cannot be stored, see the log for the reason"],
    ["Engine", store.engine === "sqlite" ? "SQLite" : "PostgreSQL"],
    ["Data file", bytes(store.bytes)],
    ["WAL", bytes(store.walBytes)],
    ["Disk space free", bytes(store.diskFreeBytes)],
    ["Version", version],
    ["Started", <RelativeTime key="started" at={startedAt} />],
  ];
}

/** The settings that differ from their default; a button shows the others too. */
function Settings({ settings = [] }: { readonly settings: SettingsJson["settings"] | undefined }) {
  const [isAllShown, showAll] = useState(false);
  const changed = settings.filter(({ source }) => source !== "default");
  const shown = isAllShown ? settings : changed;
  return (
    <Panel
      id="settings-title"
      title="Current settings"
      loading={settings.length === 0}
      aside={
        <Button aria-expanded={isAllShown} onClick={() => showAll(!isAllShown)}>
          {isAllShown ? "Show changed" : `Show all ${settings.length}`}
        </Button>
      }
    >
      <p class="note">
        {shown.length === 0 && "Every setting has its default. "}
        To change one, set its flag or variable and restart.
      </p>
      {shown.length > 0 && (
        <table class="listed system-table" aria-labelledby="settings-title">
          <TableHead columns={["Setting", "Value", "From"]} />
          <tbody>
            {shown.map(({ name, value, source }) => (
              <tr key={name}>
                <th scope="row">
                  <code>{name}</code>
                </th>
                <td>{value === "" ? <span class="note">none</span> : <code>{value}</code>}</td>
                <td class={source === "default" ? "note" : ""}>{source}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </Panel>
  );
}
