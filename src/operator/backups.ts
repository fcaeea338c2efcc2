import { basename, join } from "node:path";
import type { Caller, Gate } from "../access/gate.ts";
import { catalogue } from "../http/error-catalogue.ts";
import type { Exchange } from "../http/exchange.ts";
import { HttpError } from "../http/http-error.ts";
import { requestIdFields } from "../http/request-log.ts";
import { type Route, route } from "../http/route.ts";
import type { Backup, ConfiguredBackups, DatedBackups, Step } from "../plants/plant-backups.ts";
import type { Events } from "../telemetry/events.ts";
import { shareOf } from "../text/counts.ts";
import { shortened } from "../text/cut-text.ts";
import { shellQuoted } from "../text/shell.ts";
import { isoTime } from "../text/time.ts";
import type { ActionRecorder } from "./action-recorder.ts";
import { Downloads, sendFile } from "./downloads.ts";
import { readFields, wrongRequestError } from "./parameters.ts";
import type {
  BackupJson,
  BackupProgressJson,
  BackupResultJson,
  BackupsJson,
  BackupTaskJson,
  DownloadLinkJson,
} from "./responses.ts";

const quotedNameCharactersMax = 100;

export function backupRoutes(
  configured: ConfiguredBackups,
  actions: ActionRecorder,
  gate: Gate,
  events: Events,
): readonly Route[] {
  const backups = new Backups(configured, actions, events);
  const downloads = new Downloads<string>(gate, "operator");
  return [
    route("GET", "/api/backups", "operator", async (exchange) =>
      exchange.respondJson(await backups.present()),
    ),

    route("POST", "/api/backups", "operator", async (exchange, caller) => {
      await readFields(exchange);
      const folder = backups.requireFolder();
      await backups.startTask(exchange, caller, { kind: "create", name: undefined }, async () => {
        const { path, warning, problem } = await folder.backUpOnRequest(Date.now());
        return { name: path && basename(path), problem, warning };
      });
      exchange.respondJson(await backups.present(), 202);
    }),

    route("POST", "/api/backups/{name}/verify", "operator", async (exchange, caller) => {
      await readFields(exchange);
      const folder = backups.requireFolder();
      const name = exchange.parameter;
      await backups.refuseMissingBackup(name);
      await backups.startTask(exchange, caller, { kind: "verify", name }, async () => {
        const { problems, warning } = await folder.verify(name, (step) => backups.showStep(step));
        return { name, problem: problems.length === 0 ? undefined : problems.join("; "), warning };
      });
      exchange.respondJson(await backups.present(), 202);
    }),

    route("POST", "/api/backups/{name}/link", "operator", async (exchange, caller) => {
      await readFields(exchange);
      const name = exchange.parameter;
      await backups.refuseMissingBackup(name);
      const secret = downloads.createLink(exchange, caller, name);
      exchange.respondJson({ url: `/api/backup-files/${secret}` } satisfies DownloadLinkJson, 201);
    }),

    route("GET", "/api/backup-files/{secret}", "none", async (exchange) => {
      exchange.refuseWhileDraining();
      const { target: name, caller } = downloads.requireDownload(exchange);
      await backups.refuseMissingBackup(name);
      await actions.record(exchange, caller, "backup.downloaded", name);
      // A link works once, so no request that is refused uses it up. Another request may have used it meanwhile.
      const download = downloads.claimDownload(exchange);
      const pieces = backups.requireFolder().read(name);
      await sendFile(exchange, download, { name, contentType: "application/vnd.sqlite3" }, pieces);
    }),
  ];
}

/** Makes and verifies backups in the background, one at a time. */
class Backups {
  readonly #configured: ConfiguredBackups;
  readonly #actions: ActionRecorder;
  readonly #events: Events;
  #task: BackupTaskJson | undefined;
  #step: Step | undefined;
  #last: BackupResultJson | undefined;

  constructor(configured: ConfiguredBackups, actions: ActionRecorder, events: Events) {
    this.#configured = configured;
    this.#actions = actions;
    this.#events = events;
  }

  async present(): Promise<BackupsJson> {
    const { folder, unavailable } = this.#configured;
    if (folder === undefined) {
      return {
        unavailable,
        folder: undefined,
        backups: [],
        task: undefined,
        progress: undefined,
        last: undefined,
      };
    }
    // The task is read before the list, so that the list has the backup of a task that has ended.
    const task = this.#task;
    const progress = this.#step && presentStep(this.#step);
    const last = this.#last;
    const { backups, problem } = await folder.list();
    return {
      unavailable: problem,
      folder: folder.folderPath,
      backups: backups.map((backup) => presentBackup(folder, backup)),
      task,
      progress,
      last,
    };
  }

  /** @throws HttpError there are no backups here. */
  requireFolder(): DatedBackups {
    const { folder, unavailable } = this.#configured;
    if (folder === undefined) throw wrongRequestError(unavailable);
    return folder;
  }

  /** @throws HttpError there is no backup of that name, or the folder cannot be read. */
  async refuseMissingBackup(name: string): Promise<void> {
    const { backups, problem } = await this.requireFolder().list();
    if (problem !== undefined) throw wrongRequestError(problem);
    if (backups.some((backup) => backup.name === name)) return;
    throw new HttpError("no-such-path", `There is no backup ${shortened(name, quotedNameCharactersMax)}.`);
  }

  /** Says what the running task does now. */
  showStep(step: Step): void {
    this.#step = step;
  }

  /**
   * Records the action in the audit trail, then starts the work, which continues after the response.
   * @throws HttpError once the drain has begun, or while there is another task.
   */
  async startTask(
    exchange: Exchange,
    caller: Caller,
    task: BackupTaskJson,
    work: () => Promise<Omit<BackupResultJson, "kind">>,
  ): Promise<void> {
    exchange.refuseWhileDraining();
    if (this.#task !== undefined)
      throw new HttpError(
        "too-busy",
        "A backup is already being made or verified. Try again when it has finished.",
      );
    this.#task = task;
    try {
      const action = task.kind === "create" ? "backup.created" : "backup.verified";
      await this.#actions.record(exchange, caller, action, task.name ?? "data file");
      // Again, since the entry may have waited for the disk.
      exchange.refuseWhileDraining();
    } catch (error) {
      this.#task = undefined;
      throw error;
    }
    void this.#finish(exchange, task, work);
  }

  async #finish(
    exchange: Exchange,
    { kind, name }: BackupTaskJson,
    work: () => Promise<Omit<BackupResultJson, "kind">>,
  ): Promise<void> {
    let result: Omit<BackupResultJson, "kind">;
    try {
      result = await work();
      if (result.problem !== undefined)
        this.#events.backupFailed(kind, requestIdFields(exchange), result.problem);
    } catch (error) {
      this.#events.internalError(() => requestIdFields(exchange), error);
      // The reason is for the log alone.
      result = { name, problem: catalogue["internal-error"].example };
    }
    this.#task = undefined;
    this.#step = undefined;
    this.#last = { kind, ...result };
  }
}

function presentStep({ doing, done, total }: Step): BackupProgressJson {
  return { doing, share: shareOf(done(), total()) };
}

function presentBackup({ folderPath, databasePath }: DatedBackups, backup: Backup): BackupJson {
  const { name, atMs, bytes, coveredPlants, digest, verifiedAtMs } = backup;
  const file = shellQuoted(join(folderPath, name));
  return {
    name,
    at: isoTime(atMs),
    bytes,
    coveredPlants,
    digest,
    verifiedAt: isoTime(verifiedAtMs),
    restoreCommand: `plant-store restore ${file} --replace --database ${shellQuoted(databasePath)}`,
  };
}
