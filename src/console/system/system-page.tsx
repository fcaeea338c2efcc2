import { useEffect, useState } from "preact/hooks";
import type { Overview, ServiceSettings } from "../api-shapes.ts";
import { formatBytes, formatRelativeTime, formatTime } from "../format.ts";
import { ErrorNotice } from "../parts/notice.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { useSession } from "../session.ts";
import { BackupsCard } from "./backups-card.tsx";

const refreshMs = 5000;

/** Health, backups and the settings in force. */
export function SystemPage() {
  const { api, me } = useSession();
  const [settings, setSettings] = useState<ServiceSettings>();
  const [error, setError] = useState<unknown>();
  const load = (): void => {
    setError(undefined);
    api.get<ServiceSettings>("/api/settings").then(setSettings, setError);
  };
  useEffect(load, [api]);
  return (
    <>
      <PageHead title="System" lead="The health of the service, its backups, and the settings in force.">
        {/* The same tab: its back button leads here again. */}
        <a class="quiet" href={`${me.publicUrl}/docs`}>
          API docs
        </a>
      </PageHead>
      {error !== undefined && <ErrorNotice error={error} onRetry={load} />}
      <Health />
      <BackupsCard />
      {settings !== undefined && <SettingsTable settings={settings.settings} />}
    </>
  );
}

function Health() {
  const { api } = useSession();
  const [overview, setOverview] = useState<Overview>();
  const [error, setError] = useState<unknown>();
  useEffect(() => {
    const abort = new AbortController();
    const load = (): void => {
      api.get<Overview>("/api/overview", abort.signal).then(
        (loaded) => {
          setOverview(loaded);
          setError(undefined);
        },
        (reason) => abort.signal.aborted || setError(reason),
      );
    };
    load();
    const timer = setInterval(load, refreshMs);
    return () => {
      clearInterval(timer);
      abort.abort();
    };
  }, [api]);
  return (
    <section class="card system-card" aria-labelledby="health-title">
      <h2 id="health-title">Health</h2>
      {error !== undefined && <ErrorNotice error={error} />}
      {overview !== undefined && <HealthList overview={overview} />}
    </section>
  );
}

function HealthList({ overview: { store, version, startedAt } }: { readonly overview: Overview }) {
  const rows: readonly (readonly [string, string | undefined])[] = [
    ["Store", store.ready ? "ready" : "not ready: plants cannot be stored, see the log for the reason"],
    ["Engine", store.engine === "sqlite" ? "SQLite" : "PostgreSQL"],
    ["Data file", store.bytes === undefined ? undefined : formatBytes(store.bytes)],
    ["WAL", store.walBytes === undefined ? undefined : formatBytes(store.walBytes)],
    ["Disk space left", store.diskFreeBytes === undefined ? undefined : formatBytes(store.diskFreeBytes)],
    ["Version", version],
    ["Started", `${formatTime(startedAt)} (${formatRelativeTime(startedAt)})`],
  ];
  return (
    <dl class="health-facts">
      {rows.map(
        ([name, value]) =>
          value !== undefined && (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ),
      )}
    </dl>
  );
}

function SettingsTable({ settings }: Pick<ServiceSettings, "settings">) {
  return (
    <section class="card system-card" aria-labelledby="settings-title">
      <h2 id="settings-title">Settings in force</h2>
      <p class="note">
        As “plant-store config” prints them. Change one by its flag or variable, and restart.
      </p>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable by keyboard */}
      <section class="scroll-box" tabIndex={0} aria-label="Settings">
        <table>
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
                <td>{source}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </section>
    </section>
  );
}
