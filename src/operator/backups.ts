import { basename, join } from "node:path";
import type { Caller } from "../access/gate.ts";
import { catalogue } from "../http/error-catalogue.ts";
import type { Exchange } from "../http/exchange.ts";
import { requestIdFields } from "../http/log-fields.ts";
import { quoted, Refusal } from "../http/refusal.ts";
import { json, stream } from "../http/reply.ts";
import type { Backup, ConfiguredBackups, DatedBackups } from "../plants/plant-backups.ts";
import type { Events } from "../telemetry/events.ts";
import { shellQuoted } from "../text/shell.ts";
import { isoTime } from "../text/time.ts";
import type { ActionRecorder } from "./action-recorder.ts";
import type { ApiRequest } from "./api-route.ts";
import type { Download, DownloadLinks } from "./download-links.ts";
import { type Parameters, parseText, required, wrongParameter } from "./parameters.ts";
import type { BackupJson, BackupResultJson, BackupsJson } from "./responses.ts";

export const linkParameters = { name: required(parseText) };

/** Makes backups in the background, one at a time, and sends them. */
export class Backups {
  readonly #configured: ConfiguredBackups;
  readonly #actions: ActionRecorder;
  readonly #links: DownloadLinks;
  readonly #events: Events;
  #isRunning = false;
  #last: BackupResultJson | undefined;

  constructor(configured: ConfiguredBackups, actions: ActionRecorder, links: DownloadLinks, events: Events) {
    this.#configured = configured;
    this.#actions = actions;
    this.#links = links;
    this.#events = events;
  }

  readonly list = async () => json(await this.#present());

  /**
   * Records the action in the audit trail, then starts the backup, which continues after the response.
   * @throws Refusal once the drain has begun, or while another backup is being made.
   */
  readonly create = async ({ exchange, caller }: ApiRequest<Parameters>) => {
    const folder = this.#requireFolder();
    exchange.refuseWhileDraining();
    if (this.#isRunning)
      throw new Refusal("too-busy", "A backup is already being made. Try again when it has finished.");
    this.#isRunning = true;
    try {
      await this.#actions.record(exchange, caller, "backup.created", "data file");
      // Again, since the entry may have waited for the disk.
      exchange.refuseWhileDraining();
    } catch (error) {
      this.#isRunning = false;
      throw error;
    }
    void this.#backUp(folder, exchange, caller);
    return json(await this.#present(), 202);
  };

  readonly createLink = async ({ exchange, caller, values }: ApiRequest<typeof linkParameters>) => {
    const { name } = values;
    await this.#requireBackup(name);
    return json(this.#links.create(exchange, caller, "operator", this.#download(name)), 201);
  };

  #download(name: string): Download {
    return async (exchange, caller) => {
      exchange.refuseWhileDraining();
      const folder = await this.#requireBackup(name);
      await this.#actions.record(exchange, caller, "backup.downloaded", name);
      return stream("application/vnd.sqlite3", name, folder.read(name));
    };
  }

  async #present(): Promise<BackupsJson> {
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

  /** @throws Refusal there is no backup of that name, or the folder cannot be read. */
  async #requireBackup(name: string): Promise<DatedBackups> {
    const folder = this.#requireFolder();
    const { backups, problem } = await folder.list();
    if (problem !== undefined) throw new Refusal("store-unavailable", problem);
    if (backups.some((backup) => backup.name === name)) return folder;
    throw new Refusal("no-such-path", `There is no backup ${quoted(name)}.`);
  }

  /** @throws Refusal there are no backups here. */
  #requireFolder(): DatedBackups {
    const { folder, unavailable } = this.#configured;
    if (folder === undefined) throw wrongParameter(unavailable);
    return folder;
  }

  async #backUp(folder: DatedBackups, exchange: Exchange, caller: Caller): Promise<void> {
    try {
      const { path, warning, problem } = await folder.backUpOnRequest(Date.now());
      this.#last = { name: path && basename(path), problem, warning };
      if (problem !== undefined) this.#events.backupFailed(requestIdFields(exchange), problem);
    } catch (error) {
      this.#events.internalError(() => requestIdFields(exchange), error);
      // The reason is for the log alone.
      this.#last = { name: undefined, problem: catalogue["internal-error"].example };
    }
    const { problem } = this.#last;
    // It has failed, whether or not that can be recorded.
    if (problem !== undefined)
      await this.#actions.record(exchange, caller, "backup.failed", "data file", problem).catch(() => {});
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
