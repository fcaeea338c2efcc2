import type { BackupsJson } from "../../operator/responses.ts";
import { formatBytes } from "../../text/sizes.ts";
import { useConsole } from "../console.ts";
import { ErrorNotice, Panel } from "../parts/content-states.tsx";
import { Button, CopyButton, download } from "../parts/controls.tsx";
import { useAttempt, useLive } from "../parts/hooks.ts";
import { Table } from "../parts/table.tsx";
import { RelativeTime } from "../parts/time.tsx";

interface BackupsProps {
  /** When the last backup was started, wherever that was. */
  readonly lastAt: string | null | undefined;
}

/** The backups in the service's folder: make and download them. */
export function Backups({ lastAt }: BackupsProps) {
  const { api } = useConsole();
  const { value: listed, error: loadError, isLoading, reload } = useLive("/api/backups", {});
  const { isBusy: isStarting, error, attempt } = useAttempt();
  const isRunning = listed?.isRunning === true;
  const isBusy = isStarting || isRunning;
  const newest = listed?.backups[0];
  const isElsewhere = listed?.isRunning === false && !listed.backups.some(({ at }) => at === lastAt);
  // While a backup is made, the status is about that one.
  const needsAttention = !isRunning && (listed?.last?.problem ?? listed?.last?.warning) !== undefined;
  const backUp = async (): Promise<void> => {
    await attempt(() => api.post("/api/backups", {}));
    reload();
  };
  const save = (name: string) =>
    attempt(async () => {
      const { url } = await api.post("/api/backups/{name}/link", { name });
      download(url, name);
    });
  return (
    <Panel
      id="backups-title"
      title="Backups"
      loading={isLoading}
      aside={
        listed !== undefined &&
        listed.unavailable === undefined && (
          <Button disabled={isBusy} onClick={() => void backUp()}>
            Back up now
          </Button>
        )
      }
    >
      <ErrorNotice error={error ?? loadError} />
      {listed?.unavailable !== undefined && <p class="note">{listed.unavailable}</p>}
      <p class={needsAttention ? "field-error" : "note"} role="status">
        {listed !== undefined && describeBackupStatus(listed)}
      </p>
      {lastAt && isElsewhere && (
        <p class="note">
          The last backup was made elsewhere, <RelativeTime at={lastAt} />.
        </p>
      )}
      {listed !== undefined && listed.backups.length > 0 && (
        <BackupTable backups={listed.backups} onDownload={(name) => void save(name)} />
      )}
      {newest !== undefined && <RestoreCommand command={newest.restoreCommand} />}
    </Panel>
  );
}

interface BackupTableProps {
  readonly backups: BackupsJson["backups"];
  readonly onDownload: (name: string) => void;
}

function BackupTable({ backups, onDownload }: BackupTableProps) {
  return (
    <Table class="backups" aria-labelledby="backups-title" columns={["Created", "Size"]} actions>
      {backups.map(({ name, at, bytes }) => (
        <tr key={name}>
          <th scope="row">
            <RelativeTime at={at} /> <code class="note">{name}</code>
          </th>
          <td>{formatBytes(bytes)}</td>
          <td class="row-actions">
            <Button onClick={() => onDownload(name)}>
              Download<span class="visually-hidden"> {name}</span>
            </Button>
          </td>
        </tr>
      ))}
    </Table>
  );
}

/** What restores the newest backup, and with another name each of the others. */
function RestoreCommand({ command }: { readonly command: string }) {
  return (
    <details class="restore">
      <summary class="note">Restore command</summary>
      <div class="stack">
        <p class="note">
          To restore the newest backup, stop the service, run this on the machine, and start the service
          again. Backups are deleted on the machine only, so that a stolen token cannot delete them.
        </p>
        <pre class="code">{command}</pre>
        <div class="line">
          <CopyButton text={command} label="Copy command" />
        </div>
      </div>
    </details>
  );
}

function describeBackupStatus({ isRunning, last, backups, folder, unavailable }: BackupsJson): string {
  if (isRunning) return "Making a backup…";
  if (last?.problem !== undefined) return `The backup failed: ${last.problem}`;
  if (last !== undefined) return last.warning ?? "The backup is complete and checked.";
  if (unavailable !== undefined) return "";
  return backups.length === 0 ? "No backups yet." : `In ${folder}.`;
}
