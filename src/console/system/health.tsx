import type { FsyncTimes, Overview } from "../api-shapes.ts";
import { formatBytes, formatRelativeTime, formatTime } from "../format.ts";
import { useOverview } from "../overview/use-overview.ts";
import { ErrorNotice } from "../parts/notice.tsx";
import { Panel } from "../parts/panel.tsx";

/** The state of the store, its files and its disk. */
export function Health() {
  const { overview, staleSince, error, refresh } = useOverview();
  return (
    <Panel
      id="health-title"
      title="Health"
      loading={overview === undefined && error === undefined}
      staleSince={staleSince}
    >
      {overview === undefined && error !== undefined && <ErrorNotice error={error} onRetry={refresh} />}
      {overview && <Facts overview={overview} />}
    </Panel>
  );
}

function Facts({ overview: { store, version, startedAt } }: { readonly overview: Overview }) {
  const rows: readonly (readonly [name: string, value: string | undefined, title?: string])[] = [
    ["Store", store.ready ? "ready" : "not ready: plants cannot be stored, see the log for the reason"],
    ["Engine", store.engine === "sqlite" ? "SQLite" : "PostgreSQL"],
    ["Data file", store.bytes === undefined ? undefined : formatBytes(store.bytes)],
    ["WAL", store.walBytes === undefined ? undefined : formatBytes(store.walBytes)],
    ["Disk space free", store.diskFreeBytes === undefined ? undefined : formatBytes(store.diskFreeBytes)],
    ["Fsync of the WAL", fsyncText(store.fsync?.wal)],
    ["Fsync of the data file", fsyncText(store.fsync?.data)],
    ["Version", version],
    ["Started", formatRelativeTime(startedAt), formatTime(startedAt)],
  ];
  return (
    <dl class="health-facts">
      {rows.map(
        ([name, value, title]) =>
          value !== undefined && (
            <div key={name}>
              <dt>{name}</dt>
              <dd title={title}>{value}</dd>
            </div>
          ),
      )}
    </dl>
  );
}

function fsyncText(times: FsyncTimes | undefined): string | undefined {
  return times && `median ${times.medianMs} ms, p99 ${times.p99Ms} ms`;
}
