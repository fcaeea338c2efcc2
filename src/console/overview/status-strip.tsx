import type { Overview } from "../api-shapes.ts";
import { formatBytes, formatRelativeTime, formatTime } from "../format.ts";

/** Whether the service is healthy, on one quiet line. */
export function StatusStrip({ overview }: { readonly overview: Overview }) {
  const { store, version, startedAt } = overview;
  return (
    <div class={store.ready ? "card strip" : "card strip bad"}>
      <span class="health">
        <span class={store.ready ? "dot" : "dot bad"} aria-hidden="true" />
        <b>{store.ready ? "Healthy" : "Unavailable"}</b>
      </span>
      {!store.ready && <span>Plants cannot be stored. See the service's log for the reason.</span>}
      <StoreSize store={store} />
      <LastBackup at={store.lastBackupAt} />
      <span>
        Version <b>{version}</b>, started{" "}
        <time dateTime={startedAt} title={formatTime(startedAt)}>
          {formatRelativeTime(startedAt)}
        </time>
      </span>
    </div>
  );
}

function StoreSize({ store }: { readonly store: Overview["store"] }) {
  const engine = store.engine === "sqlite" ? "SQLite" : "PostgreSQL";
  if (store.bytes === undefined) return <span>{engine}</span>;
  const walBytes = store.walBytes ?? 0;
  return (
    <span>
      {engine} <b>{formatBytes(store.bytes + walBytes)}</b>
      {walBytes > 0 && `, ${formatBytes(walBytes)} of it WAL`}
    </span>
  );
}

/** Nothing on PostgreSQL, which has its own backups. */
function LastBackup({ at }: { readonly at: string | null | undefined }) {
  if (at === undefined) return null;
  if (at === null) return <span>No backup yet</span>;
  return (
    <span>
      Last backup{" "}
      <b>
        <time dateTime={at} title={formatTime(at)}>
          {formatRelativeTime(at)}
        </time>
      </b>
    </span>
  );
}
