import { useRef, useState } from "preact/hooks";
import type {
  BackupJson,
  BackupProgressJson,
  BackupsJson,
  DownloadLinkJson,
} from "../../operator/responses.ts";
import { formatCount } from "../../text/counts.ts";
import { formatBytes } from "../../text/sizes.ts";
import { capitalized } from "../../text/words.ts";
import { formatShare } from "../format.ts";
import { ErrorNotice } from "../parts/content-states.tsx";
import { Button, CopyButton, download } from "../parts/controls.tsx";
import { useAttempt, useLive } from "../parts/hooks.ts";
import { Panel } from "../parts/panel.tsx";
import { TableHead } from "../parts/table.tsx";
import { RelativeTime } from "../parts/time.tsx";
import { useSession } from "../session.ts";

/** The backups in the service's folder: make, verify and download them. */
export function Backups() {
  const { api } = useSession();
  const { value: listed, error: loadError, isLoading, reload } = useLive<BackupsJson>("/api/backups");
  const { isBusy: isStarting, error, attempt } = useAttempt();
  const latest = useRef(listed);
  latest.current = listed;
  // The list from before a task was started, which does not have it yet.
  const [outdated, setOutdated] = useState<BackupsJson>();
  const isRunning = listed?.task !== undefined;
  const isBusy = isStarting || isRunning || (listed !== undefined && listed === outdated);
  // While a task runs, the status is about that task.
  const needsAttention = !isRunning && (listed?.last?.problem ?? listed?.last?.warning) !== undefined;
  const start = async (path: string): Promise<void> => {
    await attempt(async () => {
      await api.post(path, {});
      setOutdated(latest.current);
    });
    reload();
  };
  const save = (name: string) =>
    attempt(async () => {
      const { url } = await api.post<DownloadLinkJson>(`/api/backups/${encodeURIComponent(name)}/link`, {});
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
          <Button disabled={isBusy} onClick={() => void start("/api/backups")}>
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
      {listed?.progress !== undefined && <p class="note">{describeProgress(listed.progress)}</p>}
      {listed !== undefined && listed.backups.length > 0 && (
        <BackupTable
          backups={listed.backups}
          isBusy={isBusy}
          onVerify={(name) => void start(`/api/backups/${encodeURIComponent(name)}/verify`)}
          onDownload={(name) => void save(name)}
        />
      )}
    </Panel>
  );
}

interface BackupTableProps {
  readonly backups: BackupsJson["backups"];
  readonly isBusy: boolean;
  readonly onVerify: (name: string) => void;
  readonly onDownload: (name: string) => void;
}

function BackupTable({ backups, ...actions }: BackupTableProps) {
  return (
    <table class="listed system-table backups" aria-labelledby="backups-title">
      <TableHead columns={["Made", "Size", "Digest", "Verified"]} actions />
      <tbody>
        {backups.map((backup) => (
          <BackupRows key={backup.name} backup={backup} {...actions} />
        ))}
      </tbody>
    </table>
  );
}

interface BackupRowsProps extends Omit<BackupTableProps, "backups"> {
  readonly backup: BackupJson;
}

/** A backup, and under it what can be copied. */
function BackupRows({ backup, isBusy, onVerify, onDownload }: BackupRowsProps) {
  const { name, at, bytes, coveredPlants, digest, verifiedAt } = backup;
  return (
    <>
      <tr class="backup">
        <th scope="row">
          <RelativeTime at={at} /> <code class="note">{name}</code>
        </th>
        <td>{formatBytes(bytes)}</td>
        <td>
          {digest === null ? (
            <span class="note">none</span>
          ) : (
            <ShortDigest coveredPlants={coveredPlants} digest={digest} />
          )}
        </td>
        <td>
          {verifiedAt === undefined ? (
            <span class="note">not yet</span>
          ) : (
            <span class="state">
              <RelativeTime at={verifiedAt} />
            </span>
          )}
        </td>
        <td class="row-actions">
          <Button disabled={isBusy} onClick={() => onVerify(name)}>
            Verify<span class="visually-hidden"> {name}</span>
          </Button>
          <Button onClick={() => onDownload(name)}>
            Download<span class="visually-hidden"> {name}</span>
          </Button>
        </td>
      </tr>
      <tr class="more">
        <td colSpan={5}>
          <BackupTexts backup={backup} />
        </td>
      </tr>
    </>
  );
}

/** The command that restores the backup, and its digest as `verify` prints it. */
function BackupTexts({
  backup: { name, restoreCommand, coveredPlants, digest },
}: Pick<BackupRowsProps, "backup">) {
  return (
    <details>
      <summary class="note">
        Restore command and digest<span class="visually-hidden"> of {name}</span>
      </summary>
      <div class="stack">
        <p class="note">
          To restore it, stop the service, run this on the machine, and start the service again. Backups are
          deleted on the machine only, so that a stolen token cannot delete them.
        </p>
        <pre class="code">{restoreCommand}</pre>
        {digest !== null && <pre class="code">{formatDigest(coveredPlants, digest)}</pre>}
        <div class="line">
          <CopyButton text={restoreCommand} label="Copy command" />
          {digest !== null && <CopyButton text={formatDigest(coveredPlants, digest)} label="Copy digest" />}
        </div>
      </div>
    </details>
  );
}

const shownDigits = 8;

interface DigestProps {
  readonly coveredPlants: number;
  readonly digest: string;
}

/** A digest in a form that can be compared at a glance. */
function ShortDigest({ coveredPlants, digest }: DigestProps) {
  return (
    <>
      <code>{digest.slice(0, shownDigits)}…</code>{" "}
      <span class="note">of {formatCount(coveredPlants)} plants</span>
    </>
  );
}

function formatDigest(coveredPlants: number, digest: string): string {
  return `${coveredPlants} ${digest}`;
}

/**
 * The step of the running task, such as "Checking the rows of the backup: 41%". It changes every second, so it is not a part of
 * the status, which a screen reader reads out.
 */
function describeProgress({ doing, share }: BackupProgressJson): string {
  const step = `${capitalized(doing)} the backup`;
  return share === undefined ? `${step}…` : `${step}: ${formatShare(share)}`;
}

function describeBackupStatus({ task, last, backups, folder, unavailable }: BackupsJson): string {
  if (task !== undefined) return task.kind === "create" ? "Making a backup…" : `Verifying ${task.name}…`;
  if (last !== undefined) {
    const isNew = last.kind === "create" || last.name === undefined;
    const subject = isNew ? "The backup" : last.name;
    if (last.problem !== undefined) return `${subject} failed: ${last.problem}`;
    if (last.kind === "create") return last.warning ?? "The backup is complete and checked.";
    return last.warning ?? `${subject} was verified, and nothing wrong was found.`;
  }
  if (unavailable !== undefined) return "";
  return backups.length === 0 ? "No backups yet." : `In ${folder}.`;
}
