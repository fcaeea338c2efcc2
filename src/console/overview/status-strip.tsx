import type { Overview } from "../api-shapes.ts";
import { formatBytes, formatRelativeTime, formatTime } from "../format.ts";

/** Whether plants can be stored, and are, on one quiet line. */
export function StatusStrip({ overview }: { readonly overview: Overview }) {
  const { total, store, version, startedAt } = overview;
  const { bytes, walBytes = 0 } = store;
  const stored = total === "0" ? "Ready for the first plant" : "All plants are on disk";
  return (
    <div class={store.ready ? "card strip" : "card strip bad"}>
      <span class="health">
        <span class={store.ready ? "dot" : "dot bad"} aria-hidden="true" />
        <b>{store.ready ? stored : "Plants cannot be stored"}</b>
      </span>
      {!store.ready && <span>See the service's log for the reason.</span>}
      {bytes === undefined ? (
        <span>In PostgreSQL</span>
      ) : (
        <span>
          Store <b>{formatBytes(bytes + walBytes)}</b>
        </span>
      )}
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
