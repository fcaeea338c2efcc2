import { useState } from "preact/hooks";
import type { OverviewJson, SettingsJson } from "../../operator/responses.ts";
import { formatBytes } from "../../text/sizes.ts";
import { ErrorNotice, LoadingCard } from "../parts/content-states.tsx";
import { Button } from "../parts/controls.tsx";
import { useLoad } from "../parts/hooks.ts";
import { PageHead } from "../parts/page-head.tsx";
import { Panel } from "../parts/panel.tsx";
import { TableHead } from "../parts/table-head.tsx";
import { RelativeTime } from "../parts/time.tsx";
import { useSession } from "../session.ts";
import { Backups } from "./backups.tsx";

/** The state of the service, backups and settings. */
export function SystemPage() {
  const { me } = useSession();
  const { value, error } = useLoad<SettingsJson>("/api/settings");
  return (
    <>
      <PageHead title="System" lead="The state of the service, its backups, and its settings.">
        <a class="button" href={`${me.publicUrl}/docs`}>
          API docs
        </a>
      </PageHead>
      <ErrorNotice error={error} />
      <div class="stack">
        <StateLine />
        <Backups />
        <Settings settings={value?.settings} />
      </div>
    </>
  );
}

/** The state of the store, its files and its disk, on one line. */
function StateLine() {
  const { value: overview, error, isStale } = useLoad<OverviewJson>("/api/overview", true);
  if (overview === undefined)
    return error === undefined ? <LoadingCard lines={1} /> : <ErrorNotice error={error} />;
  const { store, version, startedAt } = overview;
  const { ready, engine, bytes, walBytes, diskFreeBytes } = store;
  return (
    <div class={`card line note strip state-line ${ready ? "" : "bad"} ${isStale ? "stale" : ""}`}>
      <span class="line">
        <span class={ready ? "dot" : "dot bad"} aria-hidden="true" />
        <b>{ready ? "Plants can be stored" : "Plants cannot be stored"}</b>
      </span>
      {!ready && <span>See the service's log for the reason.</span>}
      {engine !== "sqlite" && <span>In PostgreSQL</span>}
      <Size name="Data file" bytes={bytes} />
      <Size name="WAL" bytes={walBytes} />
      <Size name="Disk space free" bytes={diskFreeBytes} />
      <span>
        Version <b>{version}</b>, started <RelativeTime at={startedAt} />
      </span>
    </div>
  );
}

/** Undefined on PostgreSQL, whose files are elsewhere. */
function Size({ name, bytes }: { readonly name: string; readonly bytes: number | undefined }) {
  if (bytes === undefined) return null;
  return (
    <span>
      {name} <b>{formatBytes(bytes)}</b>
    </span>
  );
}

const sourceLabels: Readonly<Record<string, string>> = {
  flag: "from its flag",
  environment: "from the environment",
  file: "from a file",
  default: "default",
};

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
        <table class="listed system-table settings" aria-labelledby="settings-title">
          <TableHead columns={["Setting", "Value"]} />
          <tbody>
            {shown.map(({ name, meaning, value, source }) => (
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
          </tbody>
        </table>
      )}
    </Panel>
  );
}
