import type { BackupsJson, DownloadLinkJson } from "../../operator/responses.ts";
import { formatBytes, formatCount } from "../format.ts";
import { ErrorNotice } from "../parts/content-states.tsx";
import { Button, CopyButton, download } from "../parts/controls.tsx";
import { useAttempt, useLoad } from "../parts/hooks.ts";
import { Panel } from "../parts/panel.tsx";
import { TableHead } from "../parts/table-head.tsx";
import { RelativeTime } from "../parts/time.tsx";
import { useSession } from "../session.ts";

/** The backups in the service's folder: make, verify and download them. */
export function Backups() {
  const { api } = useSession();
  const { value: listed, error: loadError, reload } = useLoad<BackupsJson>("/api/backups", true);
  const { error, attempt } = useAttempt();
  const busy = listed?.task !== undefined;
  const start = (path: string) => void attempt(() => api.post(path, {})).then(reload);
  const save = (name: string) =>
    attempt(async () => {
      const { url } = await api.post<DownloadLinkJson>(`/api/backups/${name}/link`, {});
      download(url, name);
    });
  return (
    <Panel
      id="backups-title"
      title="Backups"
      loading={listed === undefined && loadError === undefined}
      aside={
        listed !== undefined &&
        listed.unavailable === undefined && (
          <Button disabled={busy} onClick={() => start("/api/backups")}>
            Back up now
          </Button>
        )
      }
    >
      <ErrorNotice error={error ?? loadError} />
      {listed?.unavailable !== undefined && <p class="note">{listed.unavailable}</p>}
      <p class={listed?.last?.problem === undefined ? "note" : "field-error"} role="status">
        {listed !== undefined && statusText(listed)}
      </p>
      {listed !== undefined && listed.backups.length > 0 && (
        <BackupTable
          backups={listed.backups}
          busy={busy}
          onVerify={(name) => start(`/api/backups/${name}/verify`)}
          onDownload={(name) => void save(name)}
        />
      )}
    </Panel>
  );
}

interface BackupTableProps {
  readonly backups: BackupsJson["backups"];
  readonly busy: boolean;
  readonly onVerify: (name: string) => void;
  readonly onDownload: (name: string) => void;
}

function BackupTable({ backups, busy, onVerify, onDownload }: BackupTableProps) {
  return (
    <table class="listed system-table" aria-labelledby="backups-title">
      <TableHead columns={["Made", "File", "Size", "Digest", "Verified"]} actions />
      <tbody>
        {backups.map(({ name, at, bytes, coveredPlants, digest, verifiedAt }) => (
          <tr key={name}>
            <th scope="row">
              <RelativeTime at={at} />
            </th>
            <td>
              <code>{name}</code>
            </td>
            <td>{formatBytes(bytes)}</td>
            <td>{digest === null ? "none" : <Digest coveredPlants={coveredPlants} digest={digest} />}</td>
            <td>{verifiedAt === undefined ? "not yet" : <RelativeTime at={verifiedAt} />}</td>
            <td class="row-actions">
              <Button disabled={busy} onClick={() => onVerify(name)}>
                Verify<span class="visually-hidden"> {name}</span>
              </Button>
              <Button onClick={() => onDownload(name)}>
                Download<span class="visually-hidden"> {name}</span>
              </Button>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

const shownDigits = 8;

/** A digest in a short form that can be compared at a glance; the button copies all of it. */
function Digest({ coveredPlants, digest }: { readonly coveredPlants: number; readonly digest: string }) {
  return (
    <>
      <code title={digest}>
        {formatCount(coveredPlants)} plants {digest.slice(0, shownDigits)}…
      </code>{" "}
      <CopyButton text={`${coveredPlants} ${digest}`} label="Copy" />
    </>
  );
}

function statusText({ task, last, backups, unavailable }: BackupsJson): string {
  if (task !== undefined) return task.kind === "create" ? "Making a backup…" : `Verifying ${task.name}…`;
  if (last !== undefined) {
    const isNew = last.kind === "create" || last.name === undefined;
    const subject = isNew ? "The backup" : last.name;
    if (last.problem !== undefined) return `${subject} failed: ${last.problem}`;
    if (last.kind === "create") return "The backup is complete and checked.";
    return `${subject} was verified, and nothing wrong was found.`;
  }
  return backups.length === 0 && unavailable === undefined ? "No backups yet." : "";
}
