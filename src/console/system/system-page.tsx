import { useCallback, useState } from "preact/hooks";
import type { ServiceSettings } from "../api-shapes.ts";
import { ErrorNotice } from "../parts/notice.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { Panel } from "../parts/panel.tsx";
import { useSession } from "../session.ts";
import { useLoad } from "../use-load.ts";
import { BackupsCard } from "./backups-card.tsx";
import { Health } from "./health.tsx";

/** Health, backups and settings. */
export function SystemPage() {
  const { api, me } = useSession();
  const fetchSettings = useCallback(
    async (signal: AbortSignal) => (await api.get<ServiceSettings>("/api/settings", signal)).settings,
    [api],
  );
  const { value: settings, error, reload } = useLoad(fetchSettings);
  return (
    <>
      <PageHead title="System" lead="The health of the service, its backups, and its settings.">
        {/* The same tab: the docs page then has a link back, without knowing an address of this listener. */}
        <a class="button" href={`${me.publicUrl}/docs#from-console`}>
          API docs
        </a>
      </PageHead>
      {error !== undefined && <ErrorNotice error={error} onRetry={reload} />}
      <div class="stack">
        <Health />
        <BackupsCard />
        <Settings settings={settings} />
      </div>
    </>
  );
}

/** Those that differ from their default; the others on request. */
function Settings({ settings = [] }: { readonly settings: ServiceSettings["settings"] | undefined }) {
  const [all, setAll] = useState(false);
  const changed = settings.filter(({ source }) => source !== "default");
  const shown = all ? settings : changed;
  return (
    <Panel
      id="settings-title"
      title="Current settings"
      class={shown.length > 0 ? "flush" : ""}
      loading={settings.length === 0}
      aside={
        <button type="button" class="quiet" aria-expanded={all} onClick={() => setAll(!all)}>
          {all ? "Show changed" : `Show all ${settings.length}`}
        </button>
      }
    >
      <p class="note">
        {all
          ? "All settings. "
          : changed.length === 0
            ? "Every setting has its default. "
            : "Those that differ from their default. "}
        To change one, set its flag or variable and restart.
      </p>
      {shown.length > 0 && (
        <table class="system-table" aria-labelledby="settings-title">
          <thead>
            <tr>
              <th scope="col">Setting</th>
              <th scope="col">Value</th>
              <th scope="col">From</th>
            </tr>
          </thead>
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
