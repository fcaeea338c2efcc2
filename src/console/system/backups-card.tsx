import { useCallback, useEffect, useState } from "preact/hooks";
import { errorMessage } from "../api.ts";
import type { Backups } from "../api-shapes.ts";
import { formatBytes, formatRelativeTime, formatTime } from "../format.ts";
import { download } from "../parts/download.ts";
import { Panel } from "../parts/panel.tsx";
import { useSession } from "../session.ts";

const pollMs = 500;

/** The backups in the service's folder: make, verify and download them. */
export function BackupsCard() {
  const { api } = useSession();
  const [listed, setListed] = useState<Backups>();
  const [error, setError] = useState<string>();
  const attempt = useCallback(async (work: Promise<Backups>) => {
    try {
      setListed(await work);
      setError(undefined);
    } catch (reason) {
      setError(errorMessage(reason));
    }
  }, []);
  useEffect(() => void attempt(api.get<Backups>("/api/backups")), [api, attempt]);
  const busy = listed?.task !== undefined;
  useEffect(() => {
    if (!busy) return;
    const timer = setInterval(() => void attempt(api.get<Backups>("/api/backups")), pollMs);
    return () => clearInterval(timer);
  }, [busy, api, attempt]);
  const save = async (name: string): Promise<void> => {
    try {
      download((await api.post<{ url: string }>(`/api/backups/${name}/link`, {})).url, name);
    } catch (reason) {
      setError(errorMessage(reason));
    }
  };
  const backUpNow = (
    <button
      type="button"
      class="quiet"
      disabled={busy}
      onClick={() => void attempt(api.post<Backups>("/api/backups", {}))}
    >
      Back up now
    </button>
  );
  return (
    <Panel
      id="backups-title"
      title="Backups"
      class={listed?.backups.length ? "flush" : ""}
      loading={listed === undefined && error === undefined}
      aside={listed !== undefined && listed.unavailable === undefined && backUpNow}
    >
      {error !== undefined && (
        <p class="error-notice" role="alert">
          {error}
        </p>
      )}
      {listed?.unavailable !== undefined && <p class="note">{listed.unavailable}</p>}
      <p class={listed?.last?.problem === undefined ? "note" : "field-error"} role="status">
        {listed !== undefined && statusText(listed)}
      </p>
      {listed !== undefined && listed.backups.length > 0 && (
        <BackupTable
          backups={listed.backups}
          busy={busy}
          onVerify={(name) => void attempt(api.post<Backups>(`/api/backups/${name}/verify`, {}))}
          onDownload={(name) => void save(name)}
        />
      )}
    </Panel>
  );
}

interface BackupTableProps {
  readonly backups: Backups["backups"];
  readonly busy: boolean;
  readonly onVerify: (name: string) => void;
  readonly onDownload: (name: string) => void;
}

function BackupTable({ backups, busy, onVerify, onDownload }: BackupTableProps) {
  return (
    <table class="system-table" aria-labelledby="backups-title">
      <thead>
        <tr>
          <th scope="col">Made</th>
          <th scope="col">File</th>
          <th scope="col">Size</th>
          <th scope="col">
            <span class="visually-hidden">Actions</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {backups.map(({ name, at, bytes }) => (
          <tr key={name}>
            <th scope="row">
              <time dateTime={at} title={formatTime(at)}>
                {formatRelativeTime(at)}
              </time>
            </th>
            <td>
              <code>{name}</code>
            </td>
            <td>{formatBytes(bytes)}</td>
            <td class="row-actions">
              <button type="button" class="quiet" disabled={busy} onClick={() => onVerify(name)}>
                Verify<span class="visually-hidden"> {name}</span>
              </button>
              <button type="button" class="quiet" onClick={() => onDownload(name)}>
                Download<span class="visually-hidden"> {name}</span>
              </button>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function statusText({ task, last, backups, unavailable }: Backups): string {
  if (task !== undefined)
    return task.kind === "create"
      ? `Making a backup: ${task.step || "starting"}…`
      : `Verifying ${task.name}…`;
  if (last !== undefined) {
    const what = last.kind === "create" ? "The backup" : (last.name ?? "The backup");
    if (last.problem !== undefined) return `${what} failed: ${last.problem}`;
    return last.kind === "create" ? "The backup is complete and checked." : `${what} is intact.`;
  }
  return backups.length === 0 && unavailable === undefined ? "No backups yet." : "";
}
