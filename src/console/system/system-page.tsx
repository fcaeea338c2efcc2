import { useCallback } from "preact/hooks";
import type { ServiceSettings } from "../api-shapes.ts";
import { ErrorNotice } from "../parts/notice.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { Panel } from "../parts/panel.tsx";
import { useSession } from "../session.ts";
import { useLoad } from "../use-load.ts";
import { BackupsCard } from "./backups-card.tsx";
import { Health } from "./health.tsx";

/** Health, backups and the settings in force. */
export function SystemPage() {
  const { api, me } = useSession();
  const fetchSettings = useCallback(
    async (signal: AbortSignal) => (await api.get<ServiceSettings>("/api/settings", signal)).settings,
    [api],
  );
  const { value: settings, error, reload } = useLoad(fetchSettings);
  return (
    <>
      <PageHead title="System" lead="The health of the service, its backups, and the settings in force.">
        {/* The same tab: the docs page then has a link back, without knowing an address of this listener. */}
        <a class="button" href={`${me.publicUrl}/docs#from-console`}>
          API docs
        </a>
      </PageHead>
      {error !== undefined && <ErrorNotice error={error} onRetry={reload} />}
      <div class="stack">
        <Health />
        <BackupsCard />
        <Panel id="settings-title" title="Settings in force" class="flush" loading={settings === undefined}>
          <p class="note">
            As “plant-store config” prints them. Change one by its flag or variable, and restart.
          </p>
          {settings && <SettingsTable settings={settings} />}
        </Panel>
      </div>
    </>
  );
}

function SettingsTable({ settings }: ServiceSettings) {
  return (
    <table class="system-table" aria-labelledby="settings-title">
      <thead>
        <tr>
          <th scope="col">Setting</th>
          <th scope="col">Value</th>
          <th scope="col">From</th>
        </tr>
      </thead>
      <tbody>
        {settings.map(({ name, value, source }) => (
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
  );
}
