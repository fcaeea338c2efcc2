import { basename, join } from "node:path";
import type { Caller } from "../access/scopes.ts";
import { catalogue } from "../http/error-catalogue.ts";
import type { Exchange } from "../http/exchange.ts";
import { requestIdFields } from "../http/log-fields.ts";
import { quoted, Refusal } from "../http/refusal.ts";
import { json, stream } from "../http/reply.ts";
import type { Backup, ConfiguredBackups, DatedBackups } from "../plants/plant-backups.ts";
import { Problem } from "../system/problem.ts";
import type { Events } from "../telemetry/events.ts";
import { shellQuoted } from "../text/shell.ts";
import { isoTime } from "../text/time.ts";
import type { ActionRecorder } from "./action-recorder.ts";
import type { ApiRequest } from "./api-route.ts";
import type { DownloadLinks } from "./download-links.ts";
import { type Parameters, parseText, required, wrongParameter } from "./parameters.ts";

export const linkParameters = { name: required(parseText) };

/** How the last attempt since the start of the service ended. */
interface LastAttempt {
  /** Undefined if there is none. */
  readonly name: string | undefined;
  /** Undefined if it was made. */
  readonly problem: string | undefined;
  /** What else is wrong although it was made. */
  readonly warning?: string | undefined;
}

/** Makes backups in the background, one at a time, and sends them. */
export function backupHandlers(
  configured: ConfiguredBackups,
  actions: ActionRecorder,
  links: DownloadLinks,
  events: Events,
) {
  let isRunning = false;
  let last: LastAttempt | undefined;

  async function present() {
    // What runs is read before the list, so that the list has the backup that has just been made.
    const state = { isRunning, last };
    const { folder, unavailable } = configured;
    if (folder === undefined) return { unavailable, folder, backups: [], ...state };
    try {
      const backups = (await folder.list()).map((backup) => presentBackup(folder, backup));
      return { unavailable, folder: folder.folderPath, backups, ...state };
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      return { unavailable: error.message, folder: folder.folderPath, backups: [], ...state };
    }
  }

  /** @throws Refusal there are no backups here. */
  function requireFolder(): DatedBackups {
    const { folder, unavailable } = configured;
    if (folder === undefined) throw wrongParameter(unavailable);
    return folder;
  }

  /** @throws Refusal there is no backup of that name, or the folder cannot be read. */
  async function requireBackup(name: string): Promise<DatedBackups> {
    const folder = requireFolder();
    const backups = await folder.list().catch((error) => {
      throw error instanceof Problem ? new Refusal("store-unavailable", error.message) : error;
    });
    if (backups.some((backup) => backup.name === name)) return folder;
    throw new Refusal("no-such-path", `There is no backup ${quoted(name)}.`);
  }

  async function backUp(folder: DatedBackups, exchange: Exchange, caller: Caller): Promise<void> {
    try {
      const { made, warning } = await folder.backUp(Date.now());
      last = { name: basename(made.path), problem: undefined, warning };
    } catch (error) {
      const problem = reportFailed(exchange, error);
      last = { name: undefined, problem };
      // It has failed, whether or not that can be recorded.
      await actions.record(exchange, caller, "backup.failed", "data file", problem).catch(() => {});
    }
    isRunning = false;
  }

  /** Returns what the operator is told: why it failed is theirs only if they can solve it. */
  function reportFailed(exchange: Exchange, error: unknown): string {
    if (error instanceof Problem) {
      events.backupFailed(requestIdFields(exchange), error.message);
      return error.message;
    }
    events.internalError(() => requestIdFields(exchange), error);
    return catalogue["internal-error"].example;
  }

  return {
    list: async () => json(await present()),

    /**
     * Records the action in the audit trail, then starts the backup, which continues after the response.
     * @throws Refusal once the drain has begun, or while another backup is being made.
     */
    create: async ({ exchange, caller }: ApiRequest<Parameters>) => {
      const folder = requireFolder();
      exchange.refuseWhileDraining();
      if (isRunning)
        throw new Refusal("too-busy", "A backup is already being made. Try again when it has finished.");
      isRunning = true;
      try {
        await actions.record(exchange, caller, "backup.created", "data file");
        // Again, since the entry may have waited for the disk.
        exchange.refuseWhileDraining();
      } catch (error) {
        isRunning = false;
        throw error;
      }
      void backUp(folder, exchange, caller);
      return json(await present(), 202);
    },

    createLink: async ({ exchange, caller, values: { name } }: ApiRequest<typeof linkParameters>) => {
      await requireBackup(name);
      return links.create(exchange, caller, "operator", async (follower, owner) => {
        follower.refuseWhileDraining();
        const folder = await requireBackup(name);
        await actions.record(follower, owner, "backup.downloaded", name);
        return stream("application/vnd.sqlite3", name, folder.read(name));
      });
    },
  };
}

function presentBackup({ folderPath, databasePath }: DatedBackups, backup: Backup) {
  const { name, atMs, bytes } = backup;
  const file = shellQuoted(join(folderPath, name));
  return {
    name,
    at: isoTime(atMs),
    bytes,
    restoreCommand: `plant-store restore ${file} --replace --database ${shellQuoted(databasePath)}`,
  };
}
