import { basename, join } from "node:path";
import type { Caller, Gate } from "../access/gate.ts";
import { catalogue } from "../http/error-catalogue.ts";
import type { Exchange } from "../http/exchange.ts";
import { HttpError } from "../http/http-error.ts";
import { requestIdFields } from "../http/request-log.ts";
import { type Route, route } from "../http/route.ts";
import type { Backup, ConfiguredBackups, DatedBackups } from "../plants/plant-backups.ts";
import type { Events } from "../telemetry/events.ts";
import { shortened } from "../text/cut-text.ts";
import { shellQuoted } from "../text/shell.ts";
import { isoTime } from "../text/time.ts";
import type { ActionRecorder } from "./action-recorder.ts";
import { Downloads, sendFile } from "./downloads.ts";
import { readFields, wrongRequestError } from "./parameters.ts";
import type { BackupJson, BackupResultJson, BackupsJson, DownloadLinkJson } from "./responses.ts";

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
      await backups.start(exchange, caller, async () => {
        const { path, warning, problem } = await folder.backUpOnRequest(Date.now());
        return { name: path && basename(path), problem, warning };
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

/** Makes backups in the background, one at a time. */
class Backups {
  readonly #configured: ConfiguredBackups;
  readonly #actions: ActionRecorder;
  readonly #events: Events;
  #isRunning = false;
  #last: BackupResultJson | undefined;

  constructor(configured: ConfiguredBackups, actions: ActionRecorder, events: Events) {
    this.#configured = configured;
    this.#actions = actions;
    this.#events = events;
  }

  async present(): Promise<BackupsJson> {
    const { folder, unavailable } = this.#configured;
    const isRunning = this.#isRunning;
    const last = this.#last;
    if (folder === undefined) return { unavailable, folder, backups: [], isRunning, last };
    // What runs is read before the list, so that the list has the backup that has just been made.
    const { backups, problem } = await folder.list();
    return {
      unavailable: problem,
      folder: folder.folderPath,
      backups: backups.map((backup) => presentBackup(folder, backup)),
      isRunning,
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

  /**
   * Records the action in the audit trail, then starts the work, which continues after the response.
   * @throws HttpError once the drain has begun, or while another backup is being made.
   */
  async start(exchange: Exchange, caller: Caller, work: () => Promise<BackupResultJson>): Promise<void> {
    exchange.refuseWhileDraining();
    if (this.#isRunning)
      throw new HttpError("too-busy", "A backup is already being made. Try again when it has finished.");
    this.#isRunning = true;
    try {
      await this.#actions.record(exchange, caller, "backup.created", "data file");
      // Again, since the entry may have waited for the disk.
      exchange.refuseWhileDraining();
    } catch (error) {
      this.#isRunning = false;
      throw error;
    }
    void this.#finish(exchange, work);
  }

  async #finish(exchange: Exchange, work: () => Promise<BackupResultJson>): Promise<void> {
    try {
      this.#last = await work();
      const { problem } = this.#last;
      if (problem !== undefined) this.#events.backupFailed(requestIdFields(exchange), problem);
    } catch (error) {
      this.#events.internalError(() => requestIdFields(exchange), error);
      // The reason is for the log alone.
      this.#last = { name: undefined, problem: catalogue["internal-error"].example };
    }
    this.#isRunning = false;
  }
}

function presentBackup({ folderPath, databasePath }: DatedBackups, backup: Backup): BackupJson {
  const { name, atMs, bytes } = backup;
  const file = shellQuoted(join(folderPath, name));
  return {
    name,
    at: isoTime(atMs),
    bytes,
    restoreCommand: `plant-store restore ${file} --replace --database ${shellQuoted(databasePath)}`,
  };
}
