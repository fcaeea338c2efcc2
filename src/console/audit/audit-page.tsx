import { useCallback, useState } from "preact/hooks";
import type { AuditEntry, AuditPage as Page } from "../api-shapes.ts";
import { formatRelativeTime, formatTime } from "../format.ts";
import { EmptyState, ErrorNotice } from "../parts/notice.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { Skeleton } from "../parts/panel.tsx";
import { useSession } from "../session.ts";
import { useLoad } from "../use-load.ts";

const actionLabels: Readonly<Record<string, string>> = {
  "token.created": "Created a token",
  "token.rotated": "Rotated a token",
  "token.revoked": "Revoked a token",
  "token.copied": "Copied a token",
  "console.signed-in": "Signed in",
  "export.started": "Exported plants",
  "follow.started": "Read plants from the beginning",
  "import.started": "Imported a file",
  "backup.created": "Started a backup",
  "backup.verified": "Verified a backup",
  "backup.downloaded": "Downloaded a backup",
};

/** Who did what, newest first. */
export function AuditPage() {
  const { api } = useSession();
  const fetchNewest = useCallback((signal: AbortSignal) => api.get<Page>("/api/audit", signal), [api]);
  const { value: newest, error: loadError, reload } = useLoad(fetchNewest);
  const [older, setOlder] = useState<readonly Page[]>([]);
  const [olderError, setOlderError] = useState<unknown>();
  const pages = newest === undefined ? [] : [newest, ...older];
  const entries = newest && pages.flatMap((page) => page.entries);
  const next = pages.at(-1)?.next;
  const error = loadError ?? olderError;
  const loadOlder = async (cursor: string): Promise<void> => {
    try {
      const page = await api.get<Page>(`/api/audit?${new URLSearchParams({ cursor })}`);
      setOlder((known) => [...known, page]);
      setOlderError(undefined);
    } catch (reason) {
      setOlderError(reason);
    }
  };
  return (
    <>
      <PageHead
        title="Audit"
        lead="Who changed tokens, signed in, imported or exported plants, or used backups. Entries cannot be edited. The newest 100,000 changes of tokens are kept, and the newest 100,000 other entries."
      />
      {error !== undefined && <ErrorNotice error={error} onRetry={reload} />}
      {entries === undefined && error === undefined && (
        <div class="card" aria-busy="true">
          <Skeleton lines={6} />
        </div>
      )}
      {entries?.length === 0 && (
        <EmptyState title="No entries yet">
          <p>The next sign-in, export or token change will be here.</p>
        </EmptyState>
      )}
      {entries !== undefined && entries.length > 0 && <AuditTable entries={entries} />}
      {next !== undefined && (
        <p class="actions">
          <button type="button" class="quiet" onClick={() => void loadOlder(next)}>
            Show older entries
          </button>
        </p>
      )}
    </>
  );
}

function AuditTable({ entries }: { readonly entries: readonly AuditEntry[] }) {
  return (
    <div class="card">
      <table class="tokens audit">
        <thead>
          <tr>
            <th scope="col">Action</th>
            <th scope="col">By</th>
            <th scope="col">When</th>
            <th scope="col">From</th>
            <th scope="col">Detail</th>
          </tr>
        </thead>
        <tbody>
          {entries.map(({ at, actor, action, subject, address, detail }) => (
            <tr key={`${at} ${actor} ${action} ${detail}`}>
              <th scope="row">
                {actionLabels[action] ?? action} <span class="note">{subject}</span>
              </th>
              <td>{actor}</td>
              <td>
                <time dateTime={at} title={formatTime(at)}>
                  {formatRelativeTime(at)}
                </time>
              </td>
              <td>{address ?? "command line"}</td>
              <td class="note">{detail}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
