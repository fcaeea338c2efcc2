import { useState } from "preact/hooks";
import type { AuditEntryJson, AuditPageJson } from "../../operator/responses.ts";
import { EmptyState, ErrorNotice, LoadingCard } from "../parts/content-states.tsx";
import { Button } from "../parts/controls.tsx";
import { useAttempt, useLoad } from "../parts/hooks.ts";
import { PageHead } from "../parts/page-head.tsx";
import { TableHead } from "../parts/table-head.tsx";
import { RelativeTime } from "../parts/time.tsx";
import { useSession } from "../session.ts";

const actionLabels: Readonly<Record<AuditEntryJson["action"], string>> = {
  "token.created": "Created a token",
  "token.rotated": "Rotated a token",
  "token.revoked": "Revoked a token",
  "token.copied": "Copied a token",
  "console.signed-in": "Signed in",
  "export.started": "Exported plants",
  "follow.started": "Read plants from the beginning",
  "import.started": "Started to import a file",
  "import.finished": "Imported a file",
  "backup.created": "Started a backup",
  "backup.verified": "Verified a backup",
  "backup.downloaded": "Downloaded a backup",
};

/** Who did what, newest first. */
export function AuditPage() {
  const { api } = useSession();
  const { value: newest, error: loadError } = useLoad<AuditPageJson>("/api/audit");
  const [older, setOlder] = useState<readonly AuditPageJson[]>([]);
  const { error: olderError, attempt } = useAttempt();
  const pages = newest === undefined ? [] : [newest, ...older];
  const entries = newest && pages.flatMap((page) => page.entries);
  const next = pages.at(-1)?.next;
  const error = loadError ?? olderError;
  const loadOlder = (cursor: string) =>
    attempt(async () => {
      const page = await api.get<AuditPageJson>(`/api/audit?${new URLSearchParams({ cursor })}`);
      setOlder((known) => [...known, page]);
    });
  return (
    <>
      <PageHead
        title="Audit"
        lead="Who changed tokens, signed in, imported or exported plants, or used backups. Entries cannot be edited. The newest 100,000 changes of tokens are kept, and the newest 100,000 other entries."
      />
      <ErrorNotice error={error} />
      {entries === undefined && error === undefined && <LoadingCard lines={6} />}
      {entries?.length === 0 && (
        <EmptyState title="No entries yet">
          <p>The next sign-in, export or token change will appear here.</p>
        </EmptyState>
      )}
      {entries !== undefined && entries.length > 0 && <AuditTable entries={entries} />}
      {next !== undefined && (
        <p class="line">
          <Button onClick={() => void loadOlder(next)}>Show older entries</Button>
        </p>
      )}
    </>
  );
}

function AuditTable({ entries }: { readonly entries: readonly AuditEntryJson[] }) {
  return (
    <div class="card">
      <table class="listed audit">
        <TableHead columns={["Action", "By", "When", "From", "Detail"]} />
        <tbody>
          {entries.map(({ at, actor, action, subject, address, detail }) => (
            <tr key={`${at} ${actor} ${action} ${detail}`}>
              <th scope="row">
                {/* A newer version may have recorded what this one has no label for. */}
                {actionLabels[action] ?? action} <span class="note">{subject}</span>
              </th>
              <td>{actor}</td>
              <td>
                <RelativeTime at={at} />
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
